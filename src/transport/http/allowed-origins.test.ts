import { describe, expect, it } from "vitest";
import { createOriginCheck } from "./allowed-hosts.ts";

const entries = [
  "https://app.example",
  "http://plain.example:80",
  "HTTPS://Caps.Example:8443",
  "http://localhost:*",
  "http://[::1]:*",
  "vscode-webview://panel-1",
  "http://10.0.0.1:*",
];

describe("createOriginCheck", () => {
  const check = createOriginCheck(entries);

  it.each([
    "https://app.example",
    "https://app.example:443",
    "https://APP.example.",
    "http://plain.example",
    "http://plain.example:80",
    "https://caps.example:8443",
    "http://localhost",
    "http://localhost:5173",
    "http://[::1]:1",
    "http://[0:0::1]:2",
    "http://10.0.0.1:3",
    "vscode-webview://panel-1",
  ])("C96: %s is listed, also when asked again", (origin) => {
    for (let times = 0; times < 3; times++) expect(check(origin, "localhost:3000")).toBe("listed");
  });

  const otherParts = ["http://app.example", "https://app.example:444", "https://plain.example", "ws://app.example"];
  const otherNames = [
    "https://evil.example",
    "https://caps.example",
    "https://localhost:1",
    "vscode-webview://panel-2",
  ];
  const lookalikes = ["http://localhost.evil.example", "https://app.example.evil.example", "https://xapp.example"];
  const malformed = ["", "app.example", "//app.example", "https://", "https:app.example", "https://app.example/"];
  const disguised = ["https://app.example@evil.example", "https://a https://app.example", "https://app.example:*", "*"];

  it.each([...otherParts, ...otherNames, ...lookalikes, ...malformed, ...disguised, "null", "NULL"])(
    "C96: %j is refused, whatever passed before",
    (origin) => {
      for (let times = 0; times < 3; times++) {
        expect(check("https://app.example", "localhost:3000")).toBe("listed");
        expect(check(origin, "localhost:3000")).toBe("refused");
      }
    },
  );

  it("C96: null passes only where it is listed", () => {
    expect(createOriginCheck(["null"])("null", undefined)).toBe("listed");
    expect(createOriginCheck([])("null", "null")).toBe("refused");
  });

  it("C96: a request without origin passes", () => {
    expect(check(undefined, "localhost")).toBe("absent");
    expect(createOriginCheck([])(undefined, undefined)).toBe("absent");
  });

  it.each<readonly [string, string | undefined, "own" | "refused"]>([
    ["http://localhost:3000", "localhost:3000", "own"],
    ["https://localhost:3000", "LocalHost.:3000", "own"],
    ["http://mcp.example", "mcp.example", "own"],
    ["http://mcp.example", "mcp.example:80", "own"],
    ["https://mcp.example", "mcp.example", "own"],
    ["https://mcp.example:443", "mcp.example", "own"],
    ["https://mcp.example", "mcp.example:443", "own"],
    ["http://[::1]:3000", "[0::1]:3000", "own"],
    ["http://localhost:3001", "localhost:3000", "refused"],
    ["http://localhost", "localhost:3000", "refused"],
    ["https://mcp.example", "mcp.example:80", "refused"],
    ["http://127.0.0.1:3000", "localhost:3000", "refused"],
    ["http://localhost.evil.example:3000", "localhost:3000", "refused"],
    ["ftp://localhost:3000", "localhost:3000", "refused"],
    ["vscode-webview://localhost", "localhost", "refused"],
    ["http://localhost:3000", "localhost:3000, x", "refused"],
    ["http://localhost:3000", undefined, "refused"],
  ])("C96: %s at host %s is %s", (origin, host, verdict) => {
    const unlisted = createOriginCheck([]);
    for (let times = 0; times < 3; times++) expect(unlisted(origin, host)).toBe(verdict);
  });

  it("C96: an own origin is not taken for one at another host", () => {
    const unlisted = createOriginCheck([]);
    expect(unlisted("http://a.example", "a.example")).toBe("own");
    expect(unlisted("http://a.example", "b.example")).toBe("refused");
    expect(unlisted("http://a.example", undefined)).toBe("refused");
  });

  it.each([
    "",
    "*",
    "app.example",
    "https://app.example/",
    "https://app.example/path",
    "https://*.example",
    "https://*",
    "https://app.example:x",
    "https://app.example:80:*",
    "https://u@app.example",
    ":*",
  ])("refuses the entry %j", (entry) => {
    expect(() => createOriginCheck(["https://app.example", entry])).toThrow(
      expect.objectContaining({
        code: "invalid-definition",
        message: `allowed origin "${entry}" must be like https://app.example, http://localhost:* or null`,
      }),
    );
  });
});
