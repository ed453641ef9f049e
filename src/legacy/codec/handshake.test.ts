import { describe, expect, it } from "vitest";
import { codecFor } from "../../../test/support/codecs.ts";
import type { JsonObject } from "../../json/json.ts";

const info = {
  name: "p",
  version: "1",
  title: "P",
  description: "d",
  websiteUrl: "w",
  icons: [{ src: "https://p.example/i" }],
};
const { icons: _i, description: _d, websiteUrl: _w, ...titled } = info;
const plain = { name: "p", version: "1" };

describe("hello", () => {
  const capabilities = {
    roots: { listChanged: true },
    sampling: { tools: {}, context: {} },
    elicitation: { form: {}, url: {} },
    extensions: { "com.example/x": {} },
    own: { a: 1 },
  };
  const older = { ...capabilities, sampling: {}, elicitation: {} };

  it.each([
    ["2025-11-25", info, capabilities],
    ["2025-06-18", titled, older],
    ["2025-03-26", plain, older],
    ["2024-11-05", plain, older],
  ] as const)("is said in the words of %s", (protocolVersion, clientInfo, said) => {
    const codec = codecFor(protocolVersion);
    const hello = codec.encodeInitializeRequest({ info, capabilities });
    expect(hello).toEqual({ protocolVersion, clientInfo, capabilities: said });
    expect(codec.decodeInitializeRequest(hello)).toEqual({ ok: true, value: { info: clientInfo, capabilities: said } });
  });

  it("does not count capabilities that came later", () => {
    const capabilities = { elicitation: { url: {} }, sampling: { tools: {} } };
    const params = { protocolVersion: "2025-06-18", clientInfo: plain, capabilities };
    const heard = { ok: true, value: { info: plain, capabilities: { sampling: {} } } };
    expect(codecFor("2024-11-05").decodeInitializeRequest(params)).toEqual(heard);
    expect(codecFor("2025-06-18").decodeInitializeRequest(params)).toMatchObject(heard);
    expect(codecFor("2025-11-25").decodeInitializeRequest(params)).toMatchObject({ value: { capabilities } });
  });
});

describe("welcome", () => {
  const capabilities = { completions: {}, tools: { listChanged: true }, extensions: {}, own: 1 };
  const server = { supportedVersions: ["2026-07-28"], capabilities, serverInfo: info, instructions: "i", ttlMs: 1 };
  const { completions: _, ...first } = capabilities;

  it.each([
    ["2025-11-25", info, capabilities, capabilities],
    ["2025-06-18", titled, capabilities, capabilities],
    ["2025-03-26", plain, capabilities, capabilities],
    ["2024-11-05", plain, first, { ...first, completions: {} }],
  ] as const)("is said in the words of %s", (protocolVersion, serverInfo, said, heard) => {
    const codec = codecFor(protocolVersion);
    const welcome = codec.encodeInitializeResult(server);
    expect(welcome).toEqual({ protocolVersion, serverInfo, capabilities: said, instructions: "i" });
    expect(codec.decodeInitializeResult(welcome)).toEqual({
      ok: true,
      value: { supportedVersions: [protocolVersion], serverInfo, capabilities: heard, instructions: "i" },
    });
  });

  it("is heard without capabilities or a name", () => {
    const wire = { protocolVersion: "2020-01-01", capabilities: null, serverInfo: { name: "s" }, _meta: { a: 1 } };
    expect(codecFor("2025-11-25").decodeInitializeResult(wire)).toEqual({
      ok: true,
      value: {
        supportedVersions: ["2020-01-01"],
        capabilities: {},
        serverInfo: { name: "s", version: "" },
        _meta: { a: 1 },
      },
    });
  });

  it.each([{}, { protocolVersion: 1 }, [], null, "x"])("is not heard from %j", (wire) => {
    expect(codecFor("2025-11-25").decodeInitializeResult(wire as JsonObject)).toMatchObject({
      ok: false,
      failure: { code: "invalid-response" },
    });
  });
});
