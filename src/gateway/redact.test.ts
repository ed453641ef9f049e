import { describe, expect, it } from "vitest";
import type { CallToolResult } from "../protocol/tool.ts";
import { createRedaction, redact } from "./redact.ts";
import type { RedactOptions } from "./rule.ts";

const hide = (result: CallToolResult, options: RedactOptions) => {
  const redaction = createRedaction({ action: "redact", redact: options }, 0);
  const outcome = redact<"tools/call">({ kind: "complete", result }, [redaction]);
  return outcome.kind === "complete" ? outcome.result : undefined;
};

const ssn = "123-45-6789";
const person = { name: "Ann", ssn, cards: [{ pan: "4111" }, { pan: "4222" }] };
const text = (value: string): CallToolResult => ({ content: [{ type: "text", text: value }] });

describe("redact", () => {
  it("hides members in structured content and in the text that says the same", () => {
    const given = { content: [{ type: "text" as const, text: JSON.stringify(person) }], structuredContent: person };
    const hidden = { name: "Ann", ssn: "[redacted]", cards: [{ pan: "[redacted]" }, { pan: "[redacted]" }] };
    expect(hide(given, { members: ["ssn", "cards.*.pan"] })).toEqual({
      content: [{ type: "text", text: JSON.stringify(hidden) }],
      structuredContent: hidden,
    });
    expect(given.structuredContent).toBe(person);
    expect(person.ssn).toBe(ssn);
  });

  it("hides members in texts that are JSON, however they are written", () => {
    const pretty = hide(text(` ${JSON.stringify({ a: [person] }, undefined, 2)}`), { members: "**.ssn" });
    expect(JSON.stringify(pretty)).not.toContain(ssn);
    expect(JSON.stringify(pretty)).toContain("4111");
  });

  it("hides what fits a pattern in every text, and leaves binary data as it is", () => {
    const data = btoa("my key is sk-aaaa");
    const result: CallToolResult = {
      content: [
        { type: "text", text: `is ${ssn} and ${ssn}` },
        { type: "resource", resource: { uri: "a://b", text: ssn } },
        { type: "image", data, mimeType: "image/png" },
      ],
      structuredContent: { deep: [{ note: `(${ssn})` }] },
      _meta: { note: ssn },
    };
    const hidden = hide(result, { patterns: String.raw`\d{3}-\d{2}-\d{4}` });
    expect(JSON.stringify(hidden)).not.toContain(ssn);
    expect(hidden?.content[0]).toEqual({ type: "text", text: "is [redacted] and [redacted]" });
    expect(hidden?.content[2]).toEqual(result.content[2]);
  });

  it("hides in the results of tasks, and in failures", () => {
    const redaction = createRedaction({ action: "redact", redact: { members: "ssn", patterns: "4\\d{3}" } }, 0);
    const task = redact({ kind: "complete", result: { result: { content: [], structuredContent: person } } } as never, [
      redaction,
    ]);
    expect(JSON.stringify(task)).not.toMatch(/123-45|4111/);
    const failure = { code: "application", message: "no 4111", data: { ssn } } as const;
    expect(redact({ kind: "failed", failure }, [redaction])).toEqual({
      kind: "failed",
      failure: { code: "application", message: "no [redacted]", data: { ssn: "[redacted]" } },
    });
  });

  it("gives back the same result where there is nothing to hide", () => {
    const result: CallToolResult = { content: [{ type: "text", text: "{}" }], structuredContent: { a: [1] } };
    const redaction = createRedaction({ action: "redact", redact: { members: "ssn", patterns: "sk-" } }, 0);
    const outcome = { kind: "complete", result } as const;
    expect(redact<"tools/call">(outcome, [redaction])).toBe(outcome);
  });

  it("leaves a text that is no JSON, and hides one that is nested too deeply to look through", () => {
    expect(hide(text("{ssn"), { members: "ssn" })).toEqual(text("{ssn"));
    const deep = `${"[".repeat(200_000)}${"]".repeat(200_000)}`;
    expect(hide(text(deep), { members: "**.ssn" })).toEqual(text("[redacted]"));
  });

  it("does not follow members that are not the value's own", () => {
    const given = text('{"__proto__": {"ssn": 1}, "constructor": 2}');
    expect(hide(given, { members: ["**.ssn", "constructor"] })).toEqual(
      text('{"__proto__":{"ssn":"[redacted]"},"constructor":"[redacted]"}'),
    );
    expect(({} as { ssn?: unknown }).ssn).toBeUndefined();
  });

  it("refuses a pattern that might take too long, and hides a text that would take too long", () => {
    const make = (patterns: string) => () =>
      createRedaction({ action: "redact", name: "cards", redact: { patterns } }, 0);
    expect(make("(a+)+$")).toThrow("rule 1 (cards) of the gateway: redact.patterns has");
    expect(make("[")).toThrow("redact.patterns");
    const slow = "a".repeat(100_000);
    expect(hide(text(slow), { patterns: String.raw`\d*a*\d+b` })).toEqual(text("[redacted]"));
  });

  it("does not parse structured content and its text again, and takes large results", () => {
    const rows = Array.from({ length: 60_000 }, (_, id) => ({ id, ssn, note: "x".repeat(120) }));
    const whole = JSON.stringify({ rows });
    expect(whole.length).toBeGreaterThan(9_000_000);
    const { parse } = JSON;
    let parsed = 0;
    JSON.parse = (...given: Parameters<typeof parse>) => {
      parsed++;
      return parse(...given);
    };
    try {
      const result = hide(
        { ...text(whole), structuredContent: { rows } },
        { members: "rows.*.ssn", patterns: "sk-[a-z]{4}" },
      );
      expect(JSON.stringify(result)).not.toContain(ssn);
      expect(parsed).toBe(0);
    } finally {
      JSON.parse = parse;
    }
  });
});
