import { isObject, type JsonObject } from "../json/json.ts";
import { McpError } from "../model/errors.ts";
import type { CreateMessageParams, ElicitParams, Question } from "../model/input.ts";
import { type ClientCapabilities, canShowForms } from "../model/peer.ts";

/** A question with what makes its answer acceptable. */
export interface Inquiry<T = unknown> {
  readonly question: Question;
  /** Called before anybody is asked. Rejects when the question is not fit for it. */
  readonly prepare?: (() => Promise<void>) | undefined;
  /** Reads the answer; throws `invalid-params` when it is malformed. */
  read(answer: unknown): T | Promise<T>;
}

/** Throws `missing-capability` when the client did not say that it can answer. */
export function requireCapability(question: Question, capabilities: ClientCapabilities): void {
  const missing = missingCapability(question, capabilities);
  if (missing === undefined) return;
  const message = `the client cannot answer ${question.method}: it did not declare ${describe(missing)}`;
  throw new McpError("missing-capability", message, { data: { requiredCapabilities: missing } });
}

function missingCapability({ method, params }: Question, has: ClientCapabilities): JsonObject | undefined {
  switch (method) {
    case "roots/list":
      return has.roots ? undefined : { roots: {} };
    case "sampling/createMessage":
      return missingSampling(params, has);
    case "elicitation/create":
      return missingElicitation(params, has);
  }
}

function missingSampling({ tools, toolChoice }: CreateMessageParams, { sampling }: ClientCapabilities) {
  if (sampling === undefined) return { sampling: {} };
  const needsTools = tools !== undefined || toolChoice !== undefined;
  return needsTools && sampling.tools === undefined ? { sampling: { tools: {} } } : undefined;
}

function missingElicitation({ mode }: ElicitParams, has: ClientCapabilities) {
  if (mode === "url") return has.elicitation?.url === undefined ? { elicitation: { url: {} } } : undefined;
  if (canShowForms(has)) return undefined;
  return { elicitation: has.elicitation === undefined ? {} : { form: {} } };
}

/** `elicitation.url`, from the shape of the capability. */
function describe(capability: JsonObject): string {
  const [name, inner] = Object.entries(capability)[0] ?? [];
  const [flag] = isObject(inner) ? Object.keys(inner) : [];
  return flag === undefined ? `${name}` : `${name}.${flag}`;
}
