import { isObject, type Json, type JsonObject } from "../../json/json.ts";
import { isSecretName } from "../../std/secret-names.ts";
import type { Mask } from "../../std/secrets.ts";

/** What the protocol names like a secret and is none: without it messages do not belong together. */
const ofProtocol: ReadonlySet<string> = new Set(["progressToken", "inputSchema", "outputSchema", "requestedSchema"]);

/** What only describes values: its members are named by what they describe. */
const schemas: ReadonlySet<string> = new Set(["inputSchema", "outputSchema", "requestedSchema"]);

/** What begins as credentials of well-known services do, and what follows `Bearer`. */
const credential =
  /(?<=\bbearer |\bbasic )[\w+/=.~-]{8,}|\b(?:sk|pk|gh[opsur]|github_pat|glpat|xox[a-z]|npm|AKIA|ASIA|AIza|ya29|eyJ)[-_.]?[\w.-]{10,}/gi;

/**
 * A message without what looks like a credential: members by their names, texts by how they begin, and what the mask
 * knows. What the protocol itself needs stays, so that requests and responses still belong together.
 */
export function redactMessage(message: Json, mask: Mask): Json {
  return copy(message, { mask, isSecret: false, isSchema: false });
}

interface Where {
  readonly mask: Mask;
  /** Inside a member whose name is that of a secret. */
  readonly isSecret: boolean;
  readonly isSchema: boolean;
}

const hidden = "[REDACTED]";

function copy(value: Json, where: Where): Json {
  if (typeof value === "string") return where.isSecret ? hidden : where.mask(value.replaceAll(credential, hidden));
  if (typeof value === "number" && where.isSecret) return hidden;
  if (Array.isArray(value)) return value.map((item: Json) => copy(item, where));
  return isObject(value) ? copyObject(value, where) : value;
}

function copyObject(value: JsonObject, where: Where): JsonObject {
  const isSchema = (name: string): boolean => where.isSchema || schemas.has(name);
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) => {
      if (member === undefined) return [];
      const isSecret = where.isSecret || (!isSchema(name) && !ofProtocol.has(name) && isSecretName(name));
      return [[name, copy(member, { ...where, isSecret, isSchema: isSchema(name) })]];
    }),
  );
}
