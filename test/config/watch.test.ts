import { mkdtempSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { type ConfigEvent, type WatchConfigOptions, watchConfig } from "../../src/config/node/watch-config.ts";
import { createManualClock } from "../../src/testing/clock.ts";

/** A file that is watched, and what is told of it, one after the other. */
function setUp(text: string, options: WatchConfigOptions = {}) {
  const folder = mkdtempSync(join(tmpdir(), "plugbay-watch-"));
  const path = join(folder, "mcp.json");
  writeFileSync(path, text);
  const abort = new AbortController();
  const events = watchConfig(path, { settleMs: 20, env: {}, signal: abort.signal, ...options });
  onTestFinished(async () => {
    abort.abort();
    await events.next();
    rmSync(folder, { recursive: true });
  });
  const next = async (): Promise<ConfigEvent> => {
    const { value } = await events.next();
    return value ?? expect.fail("the watch has ended");
  };
  return { folder, path, events, abort, next };
}

function textOf(servers: Readonly<Record<string, object>>): string {
  return JSON.stringify({ mcpServers: servers });
}

/** An event in short. */
function short(event: ConfigEvent): unknown {
  if (event.type === "failed") return event.error.message.replace(/^.*\//, "");
  const names = (list: readonly { readonly name: string }[]): string => list.map(({ name }) => name).join();
  const { added, removed, changed, same } = event.diff;
  return {
    added: names(added),
    removed: names(removed),
    changed: names(changed.map(({ after }) => after)),
    same: names(same),
  };
}

const nothing = { added: "", removed: "", changed: "", same: "" };

describe("watchConfig", () => {
  it("begins with what there is, and tells what has changed", async () => {
    const { path, next } = setUp(textOf({ a: { command: "x" }, b: { command: "x" } }));
    expect(short(await next())).toEqual({ ...nothing, added: "a,b" });
    writeFileSync(path, textOf({ a: { command: "x" }, b: { command: "y" }, c: { command: "x" } }));
    expect(short(await next())).toEqual({ added: "c", removed: "", changed: "b", same: "a" });
    writeFileSync(path, textOf({ a: { command: "x" } }));
    expect(short(await next())).toEqual({ ...nothing, removed: "b,c", same: "a" });
  });

  it("follows a file that is replaced, removed and made again", async () => {
    const { folder, path, next } = setUp(textOf({ a: { command: "x" } }));
    await next();
    for (const command of ["1", "2"]) {
      writeFileSync(join(folder, "draft"), textOf({ a: { command } }));
      renameSync(join(folder, "draft"), path);
      expect(short(await next())).toEqual({ ...nothing, changed: "a" });
    }
    unlinkSync(path);
    expect(short(await next())).toBe("mcp.json: there is no such file");
    writeFileSync(path, textOf({ a: { command: "2" } }));
    expect(short(await next())).toEqual({ ...nothing, same: "a" });
  });

  it("tells of a broken file once, and compares with the last good one", async () => {
    const { path, next } = setUp(textOf({ a: { command: "x" } }));
    await next();
    writeFileSync(path, '{ "mcpServers": ');
    expect(short(await next())).toBe("mcp.json:1:17: a value is expected");
    writeFileSync(path, '{ "mcpServers": {');
    expect(short(await next())).toBe("mcp.json:1:18: a closing } is missing");
    writeFileSync(path, textOf({ a: { command: "x" }, b: { command: "x" } }));
    expect(short(await next())).toEqual({ ...nothing, added: "b", same: "a" });
  });

  it("waits for a file that is not there yet", async () => {
    const { path, next } = setUp("");
    expect(short(await next())).toBe("mcp.json:1:1: the file is empty");
    writeFileSync(path, textOf({ a: { command: "x" } }));
    expect(short(await next())).toEqual({ ...nothing, added: "a" });
  });

  it("says nothing when a file is written as it was", async () => {
    const text = textOf({ a: { command: "x" } });
    const { path, next } = setUp(text);
    await next();
    writeFileSync(path, `${text}\n\n`);
    writeFileSync(path, textOf({ a: { command: "x" }, b: {} }));
    const event = await next();
    expect(short(event)).toEqual({ ...nothing, same: "a" });
    expect(event).toMatchObject({ config: { problems: [{ server: "b" }] } });
  });

  it("follows env files, with what is secret in them", async () => {
    const { folder, path, next } = setUp(textOf({ a: { command: "x" } }));
    await next();
    writeFileSync(join(folder, ".env"), "KEY=1");
    writeFileSync(path, textOf({ a: { command: "x", envFile: ".env" } }));
    expect(await next()).toMatchObject({ config: { servers: [{ target: { env: { KEY: "1" } } }] } });
    writeFileSync(join(folder, ".env"), "KEY=2");
    const event = await next();
    expect(short(event)).toEqual({ ...nothing, changed: "a" });
    expect(event).toMatchObject({ config: { servers: [{ target: { env: { KEY: "2" } } }] } });
  });

  it("asks for an input once, however often the file changes", async () => {
    let asked = 0;
    const textWith = (command: string): string =>
      JSON.stringify({
        inputs: [{ id: "k", type: "promptString" }],
        servers: { a: { command, args: [`${"$"}{input:k}`] } },
      });
    const { path, next } = setUp(textWith("x"), { onInput: () => String(++asked) });
    await next();
    writeFileSync(path, textWith("y"));
    expect(await next()).toMatchObject({ config: { servers: [{ target: { command: "y", args: ["1"] } }] } });
    expect(asked).toBe(1);
  });

  it("ends with the signal, and when the loop is left", async () => {
    const first = setUp(textOf({}));
    await first.next();
    const waiting = first.events.next();
    first.abort.abort();
    expect(await waiting).toEqual({ done: true, value: undefined });
    const second = setUp(textOf({}));
    for await (const event of second.events) {
      expect(event.type).toBe("config");
      break;
    }
    expect(await second.events.next()).toEqual({ done: true, value: undefined });
  });
});

describe("looking now and then", () => {
  it("finds changes that the system does not tell of, when files were left alone", async () => {
    const clock = createManualClock();
    const { path, next } = setUp(textOf({ a: { command: "x" } }), {
      clock,
      notices: false,
      pollMs: 1_000,
      settleMs: 100,
    });
    await next();
    const waiting = next();
    // Of another length: files that are written soon after each other may have the same time.
    writeFileSync(path, textOf({ b: { command: "longer" } }));
    await clock.advanceAsync(999);
    expect(clock.pending).toBe(1);
    await clock.advanceAsync(1);
    expect(clock.pending).toBe(2);
    writeFileSync(path, textOf({ b: { command: "x" }, c: { command: "x" } }));
    await clock.advanceAsync(1_100);
    expect(short(await waiting)).toMatchObject({ added: expect.stringContaining("b"), removed: "a" });
  });

  it("sees a file behind a link", async () => {
    const clock = createManualClock();
    const { folder, next, path } = setUp(textOf({ a: { command: "x" } }), { clock, settleMs: 0, pollMs: 10 });
    const elsewhere = mkdtempSync(join(tmpdir(), "plugbay-linked-"));
    onTestFinished(() => rmSync(elsewhere, { recursive: true }));
    writeFileSync(join(elsewhere, "real.json"), textOf({ a: { command: "1" } }));
    symlinkSync(join(elsewhere, "real.json"), join(folder, "link"));
    renameSync(join(folder, "link"), path);
    expect(short(await next())).toEqual({ ...nothing, added: "a" });
    writeFileSync(join(elsewhere, "real.json"), textOf({ a: { command: "22" } }));
    const waiting = next();
    await clock.advanceAsync(50);
    expect(short(await waiting)).toEqual({ ...nothing, changed: "a" });
  });
});
