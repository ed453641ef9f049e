import { isObject, type Json, type JsonObject } from "../json/json.ts";
import { parseJson } from "../json/parse.ts";
import type { Issue, Validator } from "../schema/validator.ts";
import type { ToolCall } from "./bridge.ts";
import type { Offer, Offers } from "./offers.ts";

/** A call as a provider has it. */
export interface RawCall {
  readonly id: string;
  readonly alias: string;
  /** An object, or a JSON text of one. */
  readonly input: unknown;
  /** What the provider itself found wrong. */
  readonly problem?: string;
}

/**
 * The call that the model meant. Arguments are brought into the form that the
 * tool wants and checked by its schema, unless `validate` is false. A schema whose
 * patterns could take too long to match is not used: the server checks, too.
 */
export async function readCall<P>(raw: RawCall, offers: Offers<P>, validate: boolean): Promise<ToolCall> {
  const call = decodeCall(raw, offers);
  const offer = offers.find(raw.alias);
  if (call.problem !== undefined || offer === undefined || !validate) return call;
  const issues = await issuesOf(call.input, offer.validator);
  if (issues.length === 0) return call;
  const { id, name } = call;
  const other = otherInput(raw, offer);
  if (other !== undefined && (await issuesOf(other, offer.validator)).length === 0) return { id, name, input: other };
  return { id, name, problem: `invalid arguments for ${raw.alias}: ${issueText(issues)}` };
}

/** The same without a check. */
export function decodeCall<P>(raw: RawCall, offers: Offers<P>): ToolCall {
  const { id, alias } = raw;
  const offer = offers.find(alias);
  if (offer === undefined) return { id, name: offers.nameOf(alias) ?? alias, problem: `unknown tool ${alias}` };
  const input = raw.problem === undefined ? readInput(raw.input, offer) : raw.problem;
  if (typeof input === "string") return { id, name: offer.name, problem: input };
  return { id, name: offer.name, input: offer.lowered.lift(input) };
}

/** The arguments by another reading, if there is one. */
function otherInput<P>({ input }: RawCall, offer: Offer<P>): JsonObject | undefined {
  const given = readInput(input, offer);
  return typeof given === "string" ? undefined : offer.lowered.liftOtherwise?.(given);
}

/** The arguments, or why there are none. No text at all is no arguments only for a tool that has none. */
function readInput<P>(input: unknown, { alias, lowered }: Offer<P>): JsonObject | string {
  if (typeof input === "string" && input.trim() === "" && !lowered.hasProperties) return {};
  return parseInput(input, alias);
}

/** An object, or a JSON text of one, as an object. Else what is wrong with it. */
export function parseInput(input: unknown, alias: string): JsonObject | string {
  if (typeof input !== "string") return objectOr(input, alias);
  const parsed = parseJson(input);
  return parsed.ok ? objectOr(parsed.value, alias) : `the arguments for ${alias} are ${parsed.reason}`;
}

function objectOr(input: unknown, alias: string): JsonObject | string {
  return isObject(input) ? input : `the arguments for ${alias} must be an object`;
}

async function issuesOf(input: Json, validator: Validator): Promise<readonly Issue[]> {
  if ((await validator.prove?.()) !== undefined) return [];
  const checked = await validator.check(input);
  return checked.ok ? [] : checked.issues;
}

function issueText(issues: readonly Issue[]): string {
  return issues
    .map(({ path, keyword, message }) => `${path === "" ? "" : `${path} `}${message} (${keyword})`)
    .join("; ");
}
