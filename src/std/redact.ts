import { isSecretName } from "./secret-names.ts";

const MAX_DEPTH = 64;

/**
 * A copy of a value as JSON, in which members that look like credentials are
 * hidden.
 *
 * A member is hidden by its name, spelled in any way: `apiKey`, `API-Key`,
 * `x_api_key`. The value given is not changed. Where JSON would lose or refuse
 * something it is told in words: errors, bytes, large integers, cycles and what
 * is nested too deeply.
 */
export function redact(value: unknown): unknown {
  return copy(value, new Map(), 0);
}

/** Objects by what became of them, so that one that is used in many places is copied once. */
type Copies = Map<object, unknown>;

function copy(value: unknown, copies: Copies, depth: number): unknown {
  if (typeof value === "bigint") return String(value);
  if (typeof value === "function" || typeof value === "symbol") return undefined;
  if (typeof value !== "object" || value === null) return value;
  if (depth > MAX_DEPTH) return "[TOO DEEP]";
  if (copies.has(value)) return copies.get(value);
  copies.set(value, "[CIRCULAR]");
  const copied = copyObject(value, copies, depth + 1);
  copies.set(value, copied);
  return copied;
}

function copyObject(value: object, copies: Copies, depth: number): unknown {
  if ("toJSON" in value && typeof value.toJSON === "function") return copy(value.toJSON(), copies, depth);
  if (Array.isArray(value)) return value.map((item) => copy(item, copies, depth));
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  const said = value instanceof Error ? [["name", value.name] as const, ["message", value.message] as const] : [];
  const members = Object.entries(value).map(([key, member]) => [
    key,
    isSecretName(key) ? "[REDACTED]" : copy(member, copies, depth),
  ]);
  return Object.fromEntries([...said, ...members]);
}
