/** The revisions that the kit speaks. */
export const newest = "2026-07-28";
export const withSessions = "2025-11-25";

const tasksExtension = "io.modelcontextprotocol/tasks";

const keys = {
  revision: "io.modelcontextprotocol/protocolVersion",
  capabilities: "io.modelcontextprotocol/clientCapabilities",
  client: "io.modelcontextprotocol/clientInfo",
};

const clientInfo = { name: "plugbay-attack", version: "1" };

/** What the kit says that it can do, so that servers ask and make tasks. */
export const able = { elicitation: { form: {} }, extensions: { [tasksExtension]: {} } };

/** A request of 2026-07-28. */
export function modernRequest(method, params = {}, id = 1) {
  const meta = { [keys.revision]: newest, [keys.capabilities]: able, [keys.client]: clientInfo };
  return { jsonrpc: "2.0", id, method, params: { ...params, _meta: { ...meta, ...params._meta } } };
}

/** The headers that a request of 2026-07-28 needs. Undefined takes one back. */
export function modernHeaders(method, name) {
  return {
    "mcp-protocol-version": newest,
    "mcp-method": headerValue(method),
    ...(name !== undefined && { "mcp-name": headerValue(name) }),
  };
}

/** What the header `Mcp-Name` repeats of some params. */
export function nameIn(method, { name, uri, taskId } = {}) {
  if (method === "resources/read") return uri;
  return method.startsWith("tasks/") ? taskId : method === "tools/call" || method === "prompts/get" ? name : undefined;
}

function headerValue(value) {
  const text = String(value);
  const isPlain = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !/^=\?base64\?.*\?=$/.test(text);
  return isPlain ? text : `=?base64?${Buffer.from(text).toString("base64")}?=`;
}

export function initializeRequest(id = 0, revision = withSessions, capabilities = { elicitation: { form: {} } }) {
  const params = { protocolVersion: revision, capabilities, clientInfo };
  return { jsonrpc: "2.0", id, method: "initialize", params };
}

export function notification(method, params) {
  return { jsonrpc: "2.0", method, ...(params !== undefined && { params }) };
}

export function request(method, params, id = 1) {
  return { jsonrpc: "2.0", id, method, ...(params !== undefined && { params }) };
}

/**
 * What became of a request: `result`, `error` of the protocol, `refused` by an
 * HTTP status, `dropped` without an answer, or `silent` until the time was up.
 */
export function outcomeOf({ status, messages, failure }, id) {
  const message =
    messages.find((one) => one.id === id && ("result" in one || "error" in one)) ??
    messages.find((one) => "result" in one || "error" in one);
  if (message !== undefined && "result" in message) return { kind: "result", result: message.result, message, status };
  if (message !== undefined) return { kind: "error", error: message.error, message, status };
  if (failure === "timeout") return { kind: "silent", status };
  if (failure !== undefined || status === 0) return { kind: "dropped", status, failure };
  return { kind: status >= 400 ? "refused" : "accepted", status };
}

/** Whether a request did nothing: it was answered with an error, refused or dropped. A tool that failed did something. */
export function isRefused({ kind }) {
  return kind === "error" || kind === "refused" || kind === "dropped";
}

/** What was answered, in a few words. */
export function describe(outcome) {
  const { kind, status, error } = outcome;
  const http = status ? `HTTP ${status}` : undefined;
  if (kind === "result") return [http, "a result"].filter(Boolean).join(" with ");
  if (kind === "error") return [http, `error ${error?.code}`].filter(Boolean).join(" with ");
  return kind === "refused" || kind === "accepted" ? (http ?? kind) : kind;
}

/** The text that a tool returned. */
export function textOf(result) {
  const blocks = Array.isArray(result?.content) ? result.content : [];
  return blocks.map((block) => block?.text ?? "").join("\n");
}

/** An answer to each question, so that it fits its form. */
export function answersTo(inputRequests = {}) {
  return Object.fromEntries(Object.entries(inputRequests).map(([key, { params }]) => [key, answerTo(params)]));
}

/** An answer to one question. */
export function answerTo(params) {
  const { properties = {} } = params?.requestedSchema ?? {};
  const content = Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, valueFor(schema)]));
  return { action: "accept", content };
}

function valueFor({ type, enum: values, oneOf, minimum = 1 }) {
  if (values !== undefined) return values[0];
  if (oneOf !== undefined) return oneOf[0].const;
  if (type === "boolean") return true;
  return type === "string" ? "attack" : minimum;
}
