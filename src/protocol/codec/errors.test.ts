import { describe, expect, it } from "vitest";
import { codecFor } from "../../../test/support/codecs.ts";
import type { ErrorCode } from "../errors.ts";
import { revisions } from "../revision.ts";
import { errorNumbers } from "./errors.ts";

/** By code: the numbers of 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25 and 2026-07-28. */
const numbers: { readonly [C in ErrorCode]?: readonly number[] } = {
  "parse-error": [-32700, -32700, -32700, -32700, -32700],
  "invalid-request": [-32600, -32600, -32600, -32600, -32600],
  "method-not-found": [-32601, -32601, -32601, -32601, -32601],
  "invalid-params": [-32602, -32602, -32602, -32602, -32602],
  internal: [-32603, -32603, -32603, -32603, -32603],
  "resource-not-found": [-32002, -32002, -32002, -32002, -32602],
  "header-mismatch": [-32600, -32600, -32600, -32600, -32020],
  "missing-capability": [-32602, -32602, -32602, -32602, -32021],
  "unsupported-revision": [-32602, -32602, -32602, -32602, -32022],
  "url-elicitation-required": [-32603, -32603, -32603, -32042, -32603],
  rejected: [-1, -1, -1, -1, -1],
};

describe("encodeFailure", () => {
  it.each(Object.keys(errorNumbers) as ErrorCode[])("numbers %s", (code) => {
    const expected = numbers[code] ?? revisions.map(() => -32603);
    const found = revisions.map((revision) => codecFor(revision).encodeFailure({ code, message: "m" }).code);
    expect(found).toEqual(expected);
  });

  const { encodeFailure } = codecFor("2026-07-28");

  it("tells why by data where there is no number", () => {
    expect(encodeFailure({ code: "timeout", message: "too late" })).toEqual({
      code: -32603,
      message: "too late",
      data: { reason: "timeout" },
    });
    expect(encodeFailure({ code: "timeout", message: "m", data: null })).toEqual({
      code: -32603,
      message: "m",
      data: null,
    });
    expect(encodeFailure({ code: "internal", message: "m" })).toEqual({ code: -32603, message: "m" });
  });

  it("keeps the number of an application", () => {
    expect(encodeFailure({ code: "application", message: "m", number: 42, data: [1] })).toEqual({
      code: 42,
      message: "m",
      data: [1],
    });
    expect(encodeFailure({ code: "application", message: "m" }).code).toBe(-32603);
    expect(encodeFailure({ code: "application", message: "m", number: 1.5 }).code).toBe(-32603);
    expect(encodeFailure({ code: "internal", message: "m", number: 42 }).code).toBe(-32603);
  });
});

describe("decodeFailure", () => {
  it.each([
    [-32700, "parse-error"],
    [-32600, "invalid-request"],
    [-32601, "method-not-found"],
    [-32602, "invalid-params"],
    [-32603, "internal"],
    [-32002, "resource-not-found"],
    [-32020, "header-mismatch"],
    [-32021, "missing-capability"],
    [-32022, "unsupported-revision"],
    [-32042, "url-elicitation-required"],
    [-1, "rejected"],
  ] as const)("knows %d in every revision", (code, known) => {
    for (const revision of revisions) {
      const failure = codecFor(revision).decodeFailure({ code, message: "m", data: { a: 1 } });
      expect(failure).toEqual({ code: known, message: "m", data: { a: 1 } });
    }
  });

  const { decodeFailure } = codecFor("2025-11-25");

  it("finds a missing resource by its uri, where a resource was read", () => {
    const data = { uri: "stock://a" };
    const error = { code: -32602, message: "m", data };
    expect(decodeFailure(error, "resources/read")).toEqual({ code: "resource-not-found", message: "m", data });
    expect(decodeFailure(error, "tools/call").code).toBe("invalid-params");
    expect(decodeFailure({ ...error, data: { uri: 1 } }, "resources/read").code).toBe("invalid-params");
  });

  it("leaves other numbers to the application, and never believes a local code", () => {
    expect(decodeFailure({ code: -32000, message: "m" })).toEqual({
      code: "application",
      message: "m",
      number: -32000,
    });
    expect(decodeFailure({ code: -32603, message: "m", data: { reason: "timeout" } }).code).toBe("internal");
  });
});
