import type { CallToolResult } from "../protocol/tool.ts";
import { didFail, didNotFail, textOf } from "./tool-result.ts";

/** What a matcher says to its runner. */
export interface MatcherVerdict {
  readonly pass: boolean;
  readonly message: () => string;
  readonly actual?: unknown;
  readonly expected?: unknown;
}

/** What vitest and jest give to a matcher. */
interface MatcherContext {
  equals(a: unknown, b: unknown): boolean;
}

/**
 * Matchers for the results of `client.callTool`, for vitest and jest.
 *
 * @example
 * expect.extend(toolMatchers);
 * expect(await client.callTool("buy", { sku: "A" })).toHaveSucceeded();
 */
export const toolMatchers: {
  /** The tool did not say that it failed. */
  toHaveSucceeded(this: MatcherContext, result: CallToolResult): MatcherVerdict;
  /** The tool said that it failed: with this in its text, where one is given. */
  toHaveFailed(this: MatcherContext, result: CallToolResult, text?: string | RegExp): MatcherVerdict;
  /** The texts of the result, one a line, are this text or match it. */
  toHaveText(this: MatcherContext, result: CallToolResult, text: string | RegExp): MatcherVerdict;
  /** The structured content is equal to this; asymmetric matchers of the runner may be in it. */
  toHaveStructuredContent(this: MatcherContext, result: CallToolResult, value: unknown): MatcherVerdict;
} = {
  toHaveSucceeded: (result) => ({
    pass: result.isError !== true,
    message: () => (result.isError === true ? didFail(result) : didNotFail(result)),
  }),
  toHaveFailed(result, text = "") {
    const said = textOf(result);
    if (result.isError !== true) return { pass: false, message: () => didNotFail(result) };
    const pass = typeof text === "string" ? said.includes(text) : text.test(said);
    return {
      pass,
      message: () => `${didFail(result)}${pass ? "" : `; expected ${text}`}`,
      actual: said,
      expected: text,
    };
  },
  toHaveText(result, text) {
    const actual = textOf(result);
    const pass = typeof text === "string" ? actual === text : text.test(actual);
    const message = (): string => `the text of the result is ${JSON.stringify(actual)}${pass ? "" : `, not ${text}`}`;
    return { pass, message, actual, expected: text };
  },
  toHaveStructuredContent(result, expected) {
    const { structuredContent: actual } = result;
    const pass = this.equals(actual, expected);
    const message = (): string => `the structured content is ${JSON.stringify(actual)}${pass ? "" : ", which differs"}`;
    return { pass, message, actual, expected };
  },
};

/**
 * The matchers as a runner knows them once they are registered.
 *
 * @example
 * declare module "vitest" {
 *   interface Matchers<T> extends ToolMatchers<T> {}
 * }
 */
export interface ToolMatchers<R = unknown> {
  toHaveSucceeded(): R;
  toHaveFailed(text?: string | RegExp): R;
  toHaveText(text: string | RegExp): R;
  toHaveStructuredContent(value: unknown): R;
}
