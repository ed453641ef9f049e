import assert from "node:assert/strict";
import type { CallToolResult } from "../protocol/tool.ts";

/** What a test expects of the result of a tool. What is left out is not looked at. */
export interface ExpectedResult {
  /** The texts of the result, one a line: this text, or one that matches. */
  readonly text?: string | RegExp | undefined;
  /** Equal, member by member. */
  readonly structuredContent?: unknown;
  /** Whether the tool says that it failed. Default false. */
  readonly isError?: boolean | undefined;
}

/**
 * Throws an `AssertionError` unless a result is as expected: for `node:test`
 * and every runner without `expect`.
 *
 * @example
 * assertToolResult(await client.callTool("buy", { sku: "A" }), { text: /^bought/ });
 */
export function assertToolResult(result: CallToolResult, expected: ExpectedResult = {}): void {
  const { isError = false, text } = expected;
  if ((result.isError === true) !== isError) assert.fail(isError ? didNotFail(result) : didFail(result));
  if (typeof text === "string") assert.equal(textOf(result), text);
  else if (text !== undefined) assert.match(textOf(result), text);
  if (expected.structuredContent !== undefined) {
    assert.deepEqual(result.structuredContent, expected.structuredContent);
  }
}

/** The texts of a result, one a line. */
export function textOf({ content }: CallToolResult): string {
  return content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
}

export function didFail(result: CallToolResult): string {
  return `the tool failed: ${textOf(result) || "it did not say why"}`;
}

export function didNotFail(result: CallToolResult): string {
  return `the tool did not fail; it returned: ${textOf(result) || JSON.stringify(result.structuredContent ?? result.content)}`;
}
