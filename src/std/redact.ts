const SECRET = /password|passwd|token|secret|apikey|authorization|bearer|credential/;
const MAX_DEPTH = 64;

/**
 * A copy of a value in which members that look like credentials are hidden.
 *
 * A member is hidden by its name, spelled in any way: `apiKey`, `API-Key`,
 * `x_api_key`. The value given is not changed.
 */
export function redact(value: unknown, depth = 0): unknown {
  if (typeof value !== "object" || value === null || depth > MAX_DEPTH) return value;
  if (Array.isArray(value)) return value.map((item) => redact(item, depth + 1));
  const members = Object.entries(value).map(([key, member]) => [
    key,
    SECRET.test(key.toLowerCase().replace(/[^a-z0-9]/g, "")) ? "[REDACTED]" : redact(member, depth + 1),
  ]);
  return Object.fromEntries(members);
}
