import { isObject, type Json, type JsonObject } from "../json/json.ts";
import { findExceededLimit, parseJson } from "../json/parse.ts";
import { McpError } from "../protocol/errors.ts";

/** Values and levels of one document. Larger ones are of those who want to be read for a long time. */
const jsonLimits = { maxJsonDepth: 128, maxJsonNodes: 1_048_576 };

/** How much longer YAML takes to read than JSON, and more: a quarter of the bytes is enough. */
const YAML_COST = 4;

/** How often one anchor of YAML may be repeated, with what is repeated in it. */
const MAX_ALIASES = 1_000;

/** Reads JSON or YAML. `place` names the text in messages. Throws `invalid-definition`. */
export async function parseDocument(text: string, place: string, maxBytes: number): Promise<Json> {
  // A character takes a byte at least.
  if (text.length > maxBytes) throw tooLong(place, maxBytes);
  const bare = text.replace(/^\uFEFF/, "");
  const value = /^\s*[{[]/.test(bare)
    ? (readJson(bare, place) ?? (await readYaml(bare, place, maxBytes)))
    : await readYaml(bare, place, maxBytes);
  const excess = findExceededLimit(value, jsonLimits);
  if (excess !== undefined) throw bad(place, `is ${excess}`);
  return value;
}

/** The error of a document that is longer than the option says. */
export function tooLong(place: string, maxBytes: number): McpError {
  return bad(place, `is longer than ${maxBytes} bytes (maxDocumentBytes)`);
}

/** Undefined for what may be YAML in braces. */
function readJson(text: string, place: string): Json | undefined {
  const parsed = parseJson(text, jsonLimits);
  if (parsed.ok) return parsed.value;
  if (/^not valid/.test(parsed.reason)) return undefined;
  throw bad(place, `is ${parsed.reason}`);
}

async function readYaml(text: string, place: string, maxBytes: number): Promise<Json> {
  if (text.length > maxBytes / YAML_COST) {
    const limit = `${maxBytes / YAML_COST} bytes, which is what maxDocumentBytes allows of YAML`;
    throw bad(place, `is longer than ${limit}: convert it to JSON, or raise maxDocumentBytes`);
  }
  const yaml = await import("yaml");
  try {
    // Names that are there twice are not looked for: the parser compares every name with every other.
    const document = yaml.parseDocument(text, { uniqueKeys: false, logLevel: "silent", prettyErrors: false });
    const [error] = document.errors;
    if (error !== undefined) throw bad(place, `is neither JSON nor YAML: ${error.code} at character ${error.pos[0]}`);
    return document.toJS({ maxAliasCount: MAX_ALIASES }) as Json;
  } catch (error) {
    if (error instanceof McpError) throw error;
    if (error instanceof RangeError) throw bad(place, "is nested too deeply");
    throw bad(place, "has aliases that stand for too much (Excessive alias count)");
  }
}

/** The outermost object of an OpenAPI 3 document, and whether its schemas are those of 3.0. Throws `invalid-definition`. */
export function readHead(document: Json, place: string): { readonly root: JsonObject; readonly isOld: boolean } {
  if (!isObject(document)) throw bad(place, "is not an OpenAPI document: an object is expected");
  const { openapi, swagger } = document;
  if (swagger !== undefined) throw bad(place, `is Swagger ${String(swagger)}; convert it to OpenAPI 3 first`);
  const version = String(openapi);
  if (!/^3\.\d/.test(version)) {
    throw bad(
      place,
      `is not an OpenAPI 3 document: "openapi" is ${openapi === undefined ? "missing" : JSON.stringify(openapi)}`,
    );
  }
  if (!isObject(document.paths) && document.paths !== undefined) throw bad(place, 'has "paths" that are no object');
  return { root: document, isOld: version.startsWith("3.0") };
}

function bad(place: string, problem: string): McpError {
  return new McpError("invalid-definition", `the OpenAPI document ${place} ${problem}`);
}
