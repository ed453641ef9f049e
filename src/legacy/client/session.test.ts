import { expect, it } from "vitest";
import { httpLegacy } from "../../../test/support/http-connected.ts";

it.each([
  ["2025-03-26", undefined],
  ["2025-06-18", "2025-06-18"],
] as const)(
  "C116: a session of %s repeats its version only if its servers know the header",
  async (revision, version) => {
    const { http } = await httpLegacy({ revision });
    const { headers } = await http.expect("GET");
    expect(headers["mcp-session-id"]).toBe("s1");
    expect(headers["mcp-protocol-version"]).toBe(version);
  },
);
