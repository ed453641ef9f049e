import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createLock, openHost } from "./support/built.ts";

// What a host says of programs that cannot be started.

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "plugbay-hints-"));
  await mkdir(join(folder, "directory"));
  await writeFile(join(folder, "plain"), "#!/bin/sh\n");
  await writeFile(join(folder, "orphan"), "#!/no/such/interpreter\n");
  await chmod(join(folder, "orphan"), 0o755);
});
afterAll(() => rm(folder, { recursive: true }));

describe.skipIf(process.platform === "win32")("the hint for a program that cannot be started", () => {
  it.each([
    ["no-such-program-4711", "program-not-found", /not in PATH/, /install it, or give the whole path/],
    ["./none/server", "program-not-found", /no such file/, /relative path .* cwd/],
    ["./plain", "not-executable", /not executable/, /chmod \+x/],
    ["plain", "not-executable", /not executable/, /chmod \+x/],
    ["./directory", "not-executable", /is a directory/, /the file of the program/],
    ["./orphan", "interpreter-not-found", /\/no\/such\/interpreter/, /first line/],
  ])("is about the program: %s, %s (X17)", async (command, reason, message, hint) => {
    const target = { command, cwd: folder, env: { PATH: `${folder}:/usr/bin:/bin` } };
    await using host = await openHost({ one: target });
    const [status] = await host.settled();
    expect(status).toMatchObject({ state: "down", reason: { code: "connection-closed", data: { reason } } });
    expect(status?.reason?.message).toMatch(message);
    expect(status?.hint).toMatch(hint);
    expect(status?.hint).not.toContain("credentials");
  });

  it("is about its folder (X17)", async () => {
    await using host = await openHost({ one: { command: "sh", cwd: join(folder, "gone") } });
    const [status] = await host.settled();
    expect(status?.reason).toMatchObject({ data: { reason: "no-such-folder" } });
    expect(status?.hint).toMatch(/cwd/);
  });

  it("is about the lock that refuses it (X17)", async () => {
    await using host = await openHost({ one: { command: "sh" } }, { lock: await createLock([]) });
    const [status] = await host.settled();
    expect(status?.reason).toMatchObject({ code: "denied", data: { by: "lock" } });
    expect(status?.hint).toMatch(/approveServer/);
  });
});
