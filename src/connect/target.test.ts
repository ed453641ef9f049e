import { describe, expect, it } from "vitest";
import { createServer } from "../server/index.ts";
import { createFakePeer } from "../testing/fake-peer.ts";
import { readTarget, type Target } from "./target.ts";

const server = createServer({ name: "s", version: "1" });
const { channel } = createFakePeer();
const url = (text: string) => ({ kind: "url", url: new URL(text) });
const command = (program: string, ...args: readonly string[]) => ({
  kind: "command",
  command: { command: program, args },
});

describe("readTarget", () => {
  it.each<[what: string, target: Target, place: object]>([
    ["a server", server, { kind: "service", service: server }],
    ["a URL", new URL("https://x.example/mcp"), url("https://x.example/mcp")],
    ["the text of a URL", "http://127.0.0.1:3000/mcp", url("http://127.0.0.1:3000/mcp")],
    ["the text of a URL in capitals", "HTTPS://x.example/", url("https://x.example/")],
    ["a command line", "node server.js --port 3", command("node", "server.js", "--port", "3")],
    ["a quoted command line", `node "my server.js" 'a b'`, command("node", "my server.js", "a b")],
    ["what only looks like a URL", "https-server --flag", command("https-server", "--flag")],
    ["words", ["my program", "a b", ""], command("my program", "a b", "")],
    ["a channel", channel, { kind: "channel", channel }],
    ["an entry with a URL", { url: "https://x.example/" }, url("https://x.example/")],
    [
      "an entry with a URL, headers and a type",
      { url: "https://x.example/", type: "streamable-http", headers: { a: "b" } },
      { ...url("https://x.example/"), transport: "streamable", headers: { a: "b" } },
    ],
    ["the type http", { url: "http://a/", type: "http" }, { ...url("http://a/"), transport: "streamable" }],
    [
      "the type streamableHttp",
      { url: "http://a/", type: "streamableHttp" },
      { ...url("http://a/"), transport: "streamable" },
    ],
    ["the type sse", { url: "http://a/", type: "SSE" }, { ...url("http://a/"), transport: "sse" }],
  ])("understands %s", (_what, target, place) => {
    expect(readTarget(target)).toEqual(place);
  });

  it("keeps everything an entry says of its command", () => {
    const entry = { command: "node", args: ["s.js"], env: { A: "1" }, cwd: "/tmp" };
    expect(readTarget(entry)).toEqual({ kind: "command", command: entry });
  });

  it.each<[what: string, target: Target, message: string]>([
    ["an open quote", 'node "server.js', 'cannot connect: a quote is open in "node \\"server.js"'],
    ["nothing", "", 'cannot connect: "" names no program'],
    ["blanks", "   ", 'cannot connect: "   " names no program'],
    ["no words", [], "cannot connect: the command names no program"],
    ["an empty word", ["", "x"], "cannot connect: the command names no program"],
    ["a broken URL", "http://[", 'cannot connect: "http://[" is not a URL'],
    ["an entry with a broken URL", { url: "nowhere" }, 'cannot connect: "nowhere" is not a URL'],
    ["a broken URL with secrets", "http://me:secret@[?key=secret", 'cannot connect: "http://[" is not a URL'],
    [
      "another kind of URL",
      new URL("file:///a"),
      "cannot connect: nothing is known about file: URLs; use http: or https:",
    ],
    [
      "the text of another kind of URL",
      "ws://a/mcp",
      "cannot connect: nothing is known about ws: URLs; use http: or https:",
    ],
    [
      "a URL without its scheme",
      "localhost:3000/mcp?key=secret",
      'cannot connect: "localhost:3000/mcp" is not a URL; write "http://localhost:3000/mcp" or "https://localhost:3000/mcp"',
    ],
    [
      "an entry with a URL without its scheme",
      { url: "127.0.0.1:3000" },
      'cannot connect: "127.0.0.1:3000" is not a URL; write "http://127.0.0.1:3000" or "https://127.0.0.1:3000"',
    ],
    [
      "undefined",
      undefined as unknown as Target,
      "cannot connect: undefined is not a target; give a URL, a command, a config entry, a channel or a server",
    ],
    ["an unknown type", { url: "http://a/", type: "ws" }, 'cannot connect: "ws" is not a type of server at a URL'],
    [
      "a URL with a password",
      "https://me:secret@x.example/",
      "cannot connect: a URL must not have a user name or password; send an authorization header with the option headers",
    ],
    [
      "an entry with neither",
      {} as Target,
      "cannot connect: a config entry needs a command, a url, a document or a module",
    ],
    [
      "an entry with an empty command",
      { command: "" },
      "cannot connect: a config entry needs a command, a url, a document or a module",
    ],
  ])("refuses %s, and says why", (_what, target, message) => {
    expect(() => readTarget(target)).toThrow(expect.objectContaining({ code: "invalid-params", message }));
  });
});
