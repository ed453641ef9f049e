/** The revisions that are spoken: of the older ones, the newest that every peer knows. */
export const LEGACY = "2025-06-18";
export const MODERN = "2026-07-28";

const clientInfo = { name: "bench", version: "1.0.0" };

const modernMeta = {
  "io.modelcontextprotocol/protocolVersion": MODERN,
  "io.modelcontextprotocol/clientInfo": clientInfo,
  "io.modelcontextprotocol/clientCapabilities": {},
};

export function request(id, method, params) {
  return JSON.stringify({ jsonrpc: "2.0", id, method, params });
}

export function initialize(id) {
  return request(id, "initialize", { protocolVersion: LEGACY, capabilities: {}, clientInfo });
}

export const initialized = JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" });

/**
 * A call of `add`, assembled from text: making requests must be cheap. What it
 * answers follows from its id, see {@link isSum}.
 */
export function add(id, era) {
  return `${addHead}${id},"params":{"name":"add","arguments":{"a":${id},"b":1}${era === "modern" ? modernTail : legacyTail}`;
}

const addHead = '{"jsonrpc":"2.0","method":"tools/call","id":';
const legacyTail = "}}";
const modernTail = `,"_meta":${JSON.stringify(modernMeta)}}}`;

/** Whether a text holds the answer to `add` of this id. */
export function isSum(text, id) {
  return text.includes(`"text":"${id + 1}"`) && text.includes(`"id":${id}`);
}

export function listTools(id, era) {
  return request(id, "tools/list", era === "modern" ? { _meta: modernMeta } : {});
}
