import type { Client } from "../../client/client.ts";
import { canonicalText } from "../../json/canonical.ts";
import { asJson, isObject, type Json } from "../../json/json.ts";
import { McpError } from "../../protocol/errors.ts";
import type { Clock } from "../../std/clock.ts";
import type { Expectation, TestAction, TestCase } from "./read-test-file.ts";

export interface TestResult {
  readonly name: string;
  readonly ms: number;
  /** What was not as it is expected. Empty when the test has passed. */
  readonly problems: readonly string[];
}

interface RunOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Runs one test. Rejects only when it was cancelled. */
export async function runTest(
  client: Client,
  { name, action, expect }: TestCase,
  { clock, signal }: RunOptions,
): Promise<TestResult> {
  const start = clock.now();
  const answer = await answerTo(client, action, signal);
  const ms = Math.round((clock.now() - start) * 10) / 10;
  const late = expect.withinMs !== undefined && ms > expect.withinMs ? [`it took ${ms} ms of ${expect.withinMs}`] : [];
  return { name, ms, problems: [...problemsOf(answer, expect), ...late] };
}

/** What came of a call. */
interface Answer {
  readonly result: Json;
  readonly structured: Json | undefined;
  readonly text: string;
  readonly failure: { readonly code: string; readonly message: string } | undefined;
}

async function answerTo(client: Client, action: TestAction, signal: AbortSignal): Promise<Answer> {
  try {
    return await ask(client, action, signal);
  } catch (error) {
    if (!(error instanceof McpError) || signal.aborted) throw error;
    const { code, message } = error;
    return { result: {}, structured: undefined, text: message, failure: { code, message } };
  }
}

async function ask(client: Client, action: TestAction, signal: AbortSignal): Promise<Answer> {
  switch (action.kind) {
    case "call": {
      const result = await client.callTool(action.name, action.arguments, { signal });
      const text = textOf(result.content);
      const failure = result.isError === true ? { code: "tool-error", message: text } : undefined;
      return { result: asJson(result), structured: result.structuredContent, text, failure };
    }
    case "read": {
      const result = await client.readResource(action.name, { signal });
      return { result: asJson(result), structured: undefined, text: textOf(result.contents), failure: undefined };
    }
    case "prompt": {
      const result = await client.getPrompt(action.name, action.arguments, { signal });
      const text = textOf(result.messages.map(({ content }) => content));
      return { result: asJson(result), structured: undefined, text, failure: undefined };
    }
  }
}

function textOf(blocks: readonly object[]): string {
  return blocks.flatMap((block) => ("text" in block && typeof block.text === "string" ? [block.text] : [])).join("\n");
}

function problemsOf({ result, structured, text, failure }: Answer, expect: Expectation): readonly string[] {
  const wrongEnd = endProblem(failure, expect.error);
  if (wrongEnd !== undefined) return [wrongEnd];
  const problems: string[] = [];
  if (expect.text !== undefined && text !== expect.text)
    problems.push(`the text is ${quote(text)}, and not ${quote(expect.text)}`);
  for (const part of expect.contains ?? [])
    if (!text.includes(part)) problems.push(`the text ${quote(text)} does not contain ${quote(part)}`);
  if (expect.matches !== undefined && !expect.matches.test(text))
    problems.push(`the text ${quote(text)} does not match ${expect.matches.source}`);
  if (expect.structured !== undefined) problems.push(...missingIn(structured, expect.structured, "structured"));
  if (expect.result !== undefined) problems.push(...missingIn(result, expect.result, "result"));
  return problems;
}

function endProblem(failure: Answer["failure"], expected: boolean | string): string | undefined {
  if (expected === false) return failure && `it failed: ${failure.message} (${failure.code})`;
  if (failure === undefined) return "it did not fail";
  if (expected === true || failure.code === expected || failure.message.includes(expected)) return undefined;
  return `it failed with ${quote(failure.message)} (${failure.code}), and not with ${quote(expected)}`;
}

/** Where a value lacks something of what it must have. Lists must be as long; objects may have more members. */
function missingIn(value: Json | undefined, wanted: Json, path: string): readonly string[] {
  if (isObject(wanted) && isObject(value)) {
    return Object.entries(wanted).flatMap(([name, member]) =>
      member === undefined ? [] : missingIn(value[name], member, `${path}.${name}`),
    );
  }
  if (Array.isArray(wanted) && Array.isArray(value) && wanted.length === value.length)
    return wanted.flatMap((item: Json, at) => missingIn(value[at], item, `${path}[${at}]`));
  if (value !== undefined && canonicalText(value) === canonicalText(wanted)) return [];
  const is = value === undefined ? "is not there" : `is ${shorten(JSON.stringify(value))}`;
  return [`${path} ${is}, and not ${shorten(JSON.stringify(wanted))}`];
}

function quote(text: string): string {
  return JSON.stringify(shorten(text));
}

function shorten(text: string): string {
  return text.length > 300 ? `${text.slice(0, 299)}…` : text;
}
