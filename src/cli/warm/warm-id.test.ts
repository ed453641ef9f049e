import { describe, expect, it } from "vitest";
import type { WarmTarget } from "./messages.ts";
import { warmIdOf } from "./warm-id.ts";

const place = { cwd: "/work", env: { PATH: "/bin", SECRET: "s3cret", SHLVL: "1" } };
const program: WarmTarget = { entry: { command: "node", args: ["server.js"], inheritEnv: ["SECRET", "SHLVL"] } };
const remote: WarmTarget = { entry: { url: "https://example.com/mcp", headers: { a: "1", b: "2" } } };

describe("the id of a target", () => {
  it("is the same whatever the order of members, and for what says nothing about the server", () => {
    const same: WarmTarget = { entry: { inheritEnv: ["SECRET", "SHLVL"], args: ["server.js"], command: "node" } };
    expect(warmIdOf(same, { ...place, env: { ...place.env, SHLVL: "2", OTHER: "x" } })).toBe(warmIdOf(program, place));
    const url: WarmTarget = { entry: { headers: { b: "2", a: "1" }, url: "https://example.com/mcp" } };
    expect(warmIdOf(url, { cwd: "/elsewhere", env: {} })).toBe(warmIdOf(remote, place));
  });

  it.each<[what: string, target: WarmTarget, changes?: Partial<typeof place>]>([
    ["program", { entry: { ...program.entry, command: "deno" } }],
    ["argument", { entry: { command: "node", args: ["other.js"], inheritEnv: ["SECRET", "SHLVL"] } }],
    ["variable that is set", { entry: { ...program.entry, env: { A: "1" } } }],
    ["variable that is passed on", program, { env: { ...place.env, SECRET: "other" } }],
    ["PATH", program, { env: { ...place.env, PATH: "/usr/bin" } }],
    ["folder", program, { cwd: "/elsewhere" }],
    ["revision", { ...program, revision: "2025-11-25" }],
  ])("is another one with another %s", (_, target, changes) => {
    expect(warmIdOf(target, { ...place, ...changes })).not.toBe(warmIdOf(program, place));
  });

  it.each<[what: string, target: WarmTarget]>([
    ["URL", { entry: { ...remote.entry, url: "https://example.com/other" } }],
    ["header", { entry: { ...remote.entry, headers: { a: "1" } } }],
    ["place of the sign-in", { ...remote, tokens: "file" }],
    ["client", { ...remote, oauth: { clientId: "other" } }],
  ])("of a URL is another one with another %s", (_, target) => {
    expect(warmIdOf(target, place)).not.toBe(warmIdOf(remote, place));
  });

  it("tells nothing of what is in it", () => {
    expect(warmIdOf(program, place)).toMatch(/^[\da-f]{32}$/);
  });
});
