import { existsSync, readFileSync } from "node:fs";
import { chmod, copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Command } from "../../src/connect/index.ts";
import type { Lock } from "../../src/lock/index.ts";
import { script } from "../fixtures/children/processes.ts";
import { createLock, openHost } from "./support/built.ts";

// Which programs a host with a lock starts. Every program writes down that it was started.

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "plugbay-lock-"));
});
afterEach(() => rm(folder, { recursive: true }));

const at = (...names: readonly string[]): string => join(folder, ...names);
const marks = (): string => (existsSync(at("marks")) ? readFileSync(at("marks"), "utf8") : "");
const marking = (...args: readonly string[]): Command => script("marking-server.mjs", at("marks"), ...args);

async function approve(servers: Readonly<Record<string, Command>>): Promise<Lock> {
  await using host = await openHost(servers);
  const lock = await createLock(await host.readSurfaces());
  await rm(at("marks"));
  return lock;
}

/** Opens a host and says what became of one server. */
async function tried(lock: Lock, target: Command, name = "shop"): Promise<string> {
  await using host = await openHost({ [name]: target }, { lock });
  const [status] = await host.settled();
  if (status?.state === "ready") return "ready";
  expect(status?.reason?.code).toBe("denied");
  await expect(host.callTool(`${name}:look`)).rejects.toMatchObject({ code: "denied" });
  return status?.reason?.message ?? "";
}

describe("a host with a lock", () => {
  it("starts what was approved", async () => {
    const target: Command = { ...marking("a"), cwd: folder, env: { KEY: "one" } };
    const lock = await approve({ shop: target });
    expect(await tried(lock, { ...target, env: { KEY: "two" } })).toBe("ready");
    expect(marks()).toBe("started a\n");
  });

  it("does not start a server that is not in it (S5)", async () => {
    const lock = await approve({ shop: marking() });
    expect(await tried(lock, marking(), "other")).toMatch(/server other.*was not approved/);
    expect(marks()).toBe("");
  });

  it("does not start a program with other arguments (S5)", async () => {
    const lock = await approve({ shop: marking("--root", "/srv") });
    expect(await tried(lock, marking("--root", "/"))).toContain("arguments");
    expect(await tried(lock, marking("--root"))).toContain("arguments");
    expect(marks()).toBe("");
  });

  it.skipIf(process.platform === "win32")("does not start another file of the same name (S5)", async () => {
    const place = dirname(marking().args?.[0] ?? "");
    for (const name of ["good", "evil"]) {
      await mkdir(at(name));
      await writeFile(at(name, "server"), `#!/bin/sh\nexec node ${join(place, "marking-server.mjs")} "$@"\n`);
      await chmod(at(name, "server"), 0o755);
    }
    const server = (path: string): Command => ({ command: path, args: [at("marks")] });
    const lock = await approve({ shop: server(at("good", "server")) });
    expect(await tried(lock, server(at("evil", "server")))).toContain(at("good", "server"));
    expect(marks()).toBe("");

    const PATH = process.env.PATH ?? "";
    const byName = (...folders: readonly string[]): Command => ({
      ...server("server"),
      env: { PATH: [...folders, PATH].join(":") },
    });
    const named = await approve({ shop: byName(at("good")) });
    expect(await tried(named, byName(at("evil"), at("good")))).toContain(at("evil", "server"));
    expect(marks()).toBe("");

    await symlink(at("good", "server"), at("link"));
    const linked = await approve({ shop: server(at("link")) });
    await rm(at("link"));
    await symlink(at("evil", "server"), at("link"));
    expect(await tried(linked, server(at("link")))).toContain(at("evil", "server"));
    await rm(at("link"));
    expect(await tried(linked, server(at("link")))).toContain("was not found");
    expect(marks()).toBe("");
  });

  it("does not start a program in another folder, or with other variables (S5)", async () => {
    await mkdir(at("a"));
    await mkdir(at("b"));
    const [command = "", ...args] = marking().args ?? [];
    await copyFile(command, at("b", "server.mjs"));
    const target: Command = { ...marking(), args: [command, ...args], cwd: at("a"), env: { KEY: "one" } };
    const lock = await approve({ shop: target });
    expect(await tried(lock, { ...target, cwd: at("b") })).toContain(at("b"));
    expect(await tried(lock, { ...target, env: { ...target.env, OTHER: "1" } })).toContain("OTHER");
    expect(await tried(lock, { ...target, inheritEnv: ["SECRET_OF_OURS"] })).toContain("SECRET_OF_OURS");
    expect(marks()).toBe("");

    const preloading = (file: string): Command => ({ ...target, env: { NODE_OPTIONS: `--title=${file}` } });
    const preloaded = await approve({ shop: preloading("good") });
    expect(await tried(preloaded, preloading("evil"))).toContain("NODE_OPTIONS");
    expect(marks()).toBe("");
  });

  it("ends a server that a new lock does not approve, and starts one that it does (S5)", async () => {
    const both = { one: marking("one"), two: marking("two") };
    const lock = await approve(both);
    const { one, two } = lock.servers as Record<string, Lock["servers"][string]>;
    await using host = await openHost(both, { lock: { ...lock, servers: { one: one as never } } });
    await host.settled();
    expect(marks()).toBe("started one\n");
    const events = host.events();
    host.setLock({ ...lock, servers: { two: two as never } });
    const states = new Map<string, string>();
    for await (const event of events) {
      if (event.kind === "state") states.set(event.server, event.status.reason?.code ?? event.status.state);
      if (states.get("one") === "denied" && states.get("two") === "ready") break;
    }
    await expect(host.callTool("one:look")).rejects.toMatchObject({ code: "denied" });
    await expect(host.callTool("two:look")).resolves.toBeDefined();
  });
});
