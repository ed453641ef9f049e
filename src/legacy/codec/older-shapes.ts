import { asJson, isObject, type Json, type JsonObject } from "../../json/json.ts";
import { type DecodeFailure, refuse } from "../../protocol/codec/codec.ts";
import {
  type Attempt,
  type Change,
  dropMeta,
  inEach,
  inMember,
  inOrder,
  same,
  without,
} from "../../protocol/codec/dialect.ts";
import { withMeta } from "../../protocol/meta.ts";
import type { ClientCapabilities } from "../../protocol/peer.ts";
import type { Revision } from "../../protocol/revision.ts";
import { tasksExtension } from "../../protocol/task.ts";

/** Refuses to ask a client for what came with a later revision than it speaks. */
export function refuseFor(what: string, since: Revision, capabilities: ClientCapabilities): DecodeFailure {
  const data = { requiredCapabilities: asJson(capabilities) };
  return refuse("missing-capability", `${what} needs revision ${since}, and the client speaks an older one`, data);
}

/**
 * Asks for a sample without tools, each message in one block, as it was before
 * 2025-11-25. An array of one block becomes that block.
 */
export const plainSampling: Attempt = (params) => {
  const tooNew = params.tools !== undefined ? "tools" : params.toolChoice !== undefined ? "toolChoice" : rich(params);
  if (tooNew !== undefined) return refuseFor(`params.${tooNew}`, "2025-11-25", { sampling: { tools: {} } });
  return { ok: true, value: inOneBlockEach(params) };
};

/** The message that is more than one block of text, image or audio. */
function rich({ messages }: JsonObject): string | undefined {
  if (!Array.isArray(messages)) return undefined;
  const index = messages.findIndex((message) => isObject(message) && !isOneBlock(message.content));
  return index < 0 ? undefined : `messages[${index}].content`;
}

function isOneBlock(content: Json | undefined): boolean {
  const [block, ...more] = Array.isArray(content) ? content : [content];
  return more.length === 0 && isObject(block) && isPlain(block);
}

function isPlain({ type }: JsonObject): boolean {
  return type !== "tool_use" && type !== "tool_result";
}

/**
 * Says a sampling message in one block. An answer has to fit, whatever the
 * model said: of several blocks the texts are joined, or else the first stands.
 */
export const oneBlock: Change = (message) => {
  const { content } = message;
  return Array.isArray(content) ? { ...message, content: inOne(content.filter(isObject).filter(isPlain)) } : message;
};

function inOne(blocks: readonly JsonObject[]): JsonObject {
  const [first, ...more] = blocks;
  if (first !== undefined && more.length === 0) return first;
  const texts = blocks.flatMap(({ text }) => (typeof text === "string" ? [text] : []));
  return first === undefined || texts.length > 0 ? { type: "text", text: texts.join("\n") } : first;
}

const inOneBlockEach: Change = inEach("messages", inOrder(oneBlock, dropMeta));

/**
 * Asks with a form as 2025-06-18 had it: one choice of an enumeration with
 * names beside it, and a default only for yes or no.
 */
export const simpleForm: Attempt = (params) => {
  const field = multipleChoice(params);
  if (field === undefined) return { ok: true, value: inSimpleWords(params) };
  return refuseFor(`params.requestedSchema.properties.${field}`, "2025-11-25", { elicitation: { form: {} } });
};

/** The field, if any, that takes several values. */
function multipleChoice({ requestedSchema }: JsonObject): string | undefined {
  const properties =
    isObject(requestedSchema) && isObject(requestedSchema.properties) ? requestedSchema.properties : {};
  return Object.entries(properties).find(([, field]) => isObject(field) && field.type === "array")?.[0];
}

const namesBeside: Change = (field) => {
  if (!Array.isArray(field.oneOf)) return field;
  const { oneOf: _, ...rest } = field;
  const choices = field.oneOf.filter(isObject);
  return {
    ...rest,
    enum: choices.map(constantOf),
    enumNames: choices.map((choice) => choice.title ?? constantOf(choice)),
  };
};

function constantOf(choice: JsonObject): string {
  return String(choice.const);
}

const withoutDefault = without("default");
const defaultForYesOrNo: Change = (field) => (field.type === "boolean" ? same : withoutDefault)(field);

const inSimpleWords: Change = inMember(
  "requestedSchema",
  inOrder(without("$schema"), inMember("properties", inEveryMember(inOrder(namesBeside, defaultForYesOrNo)))),
);

/** Changes every object that is a member, whatever its name. */
export function inEveryMember(change: Change): Change {
  return (value) => {
    const entries = Object.entries(value);
    const changed = entries.map(([name, member]) => [name, isObject(member) ? change(member) : member] as const);
    return changed.every(([, member], index) => member === entries[index]?.[1]) ? value : Object.fromEntries(changed);
  };
}

/**
 * The result of a tool without `structuredContent`, for a peer that cannot take
 * it. Where it was all that the tool said, it is said as text, and a mark in
 * `_meta` tells clients like ours that the text is JSON.
 */
export function structuredAsText(result: JsonObject): JsonObject {
  const { structuredContent, content } = result;
  if (structuredContent === undefined) return result;
  const plain = dropStructured(result);
  const text = JSON.stringify(structuredContent);
  if (Array.isArray(content) && content.length > 0 && !isOnlyText(content, text)) return plain;
  return withMeta({ ...plain, content: [{ type: "text", text }] }, "plugbay/json", true);
}

function isOnlyText(content: readonly unknown[], text: string): boolean {
  const [block] = content;
  return content.length === 1 && isObject(block) && block.type === "text" && block.text === text;
}

const dropStructured = without("structuredContent");

/** Capabilities without the extension, which means nothing before 2026-07-28. */
export const dropTasksExtension: Change = (capabilities) => {
  if (!hasExtension(capabilities)) return capabilities;
  const plain = inMember("extensions", without(tasksExtension))(capabilities);
  return isObject(plain.extensions) && Object.keys(plain.extensions).length === 0
    ? without("extensions")(plain)
    : plain;
};

/**
 * The capabilities of a server as 2025-11-25 has them: with tasks in the core.
 *
 * That tasks can be listed is for the server to say, by a `tasks.list` of its
 * own: it must not where it cannot tell whose they are.
 */
export const writeTasksCapability: Change = (capabilities) => {
  if (!hasExtension(capabilities)) return without("tasks")(capabilities);
  const stated = isObject(capabilities.tasks) ? capabilities.tasks : {};
  return { ...dropTasksExtension(capabilities), tasks: { ...tasks, ...stated } };
};

const tasks: JsonObject = { cancel: {}, requests: { tools: { call: {} } } };

/** What a server of 2025-11-25 states, with the extension where its tools can be run as tasks. */
export const readTasksCapability: Change = (capabilities) => {
  const plain = dropTasksExtension(capabilities);
  if (!runsTools(plain)) return plain;
  const others = isObject(plain.extensions) ? plain.extensions : {};
  return { ...plain, extensions: { ...others, [tasksExtension]: {} } };
};

function hasExtension({ extensions }: JsonObject): boolean {
  return isObject(extensions) && extensions[tasksExtension] !== undefined;
}

function runsTools({ tasks: stated }: JsonObject): boolean {
  const requests = isObject(stated) && isObject(stated.requests) ? stated.requests : {};
  return isObject(requests.tools) && isObject(requests.tools.call);
}
