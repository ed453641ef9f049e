import type { Json } from "../json/json.ts";
import { McpError } from "../protocol/errors.ts";
import { parseDocument, tooLong } from "./parse-document.ts";
import { documentOf } from "./references.ts";

/** Reads the text of a document at a URI. Throws `invalid-definition` where that is not allowed. */
export type ReadDocument = (uri: string) => Promise<string>;

export interface LoadOptions {
  readonly read: ReadDocument;
  readonly maxBytes: number;
  /** Whether references to other documents are loaded. */
  readonly follows: boolean;
}

/** Other documents that one may refer to, themselves or by others. */
const MAX_DOCUMENTS = 64;

/** The document, and all that its references lead to where that is allowed. */
export async function loadDocuments(
  root: { readonly uri: string; readonly value: Json },
  { read, maxBytes, follows }: LoadOptions,
): Promise<ReadonlyMap<string, Json>> {
  const documents = new Map([[root.uri, root.value]]);
  if (!follows) return documents;
  const waiting = [...referencedBy(root.value, root.uri)];
  let left = maxBytes;
  for (let uri = waiting.shift(); uri !== undefined; uri = waiting.shift()) {
    if (documents.has(uri)) continue;
    if (documents.size > MAX_DOCUMENTS) {
      throw new McpError("invalid-definition", `the OpenAPI document refers to more than ${MAX_DOCUMENTS} others`);
    }
    const text = await read(uri);
    left -= text.length;
    if (left < 0) throw tooLong(`with all that it refers to, up to ${nameOf(uri)},`, maxBytes);
    const value = await parseDocument(text, nameOf(uri), maxBytes);
    documents.set(uri, value);
    waiting.push(...referencedBy(value, uri));
  }
  return documents;
}

/** A URI as a message may show it: without its query. */
function nameOf(uri: string): string {
  return uri.replace(/[?#].*$/s, "");
}

/** The URIs of other documents that references of a document lead to. */
function referencedBy(document: Json, uri: string): ReadonlySet<string> {
  const found = new Set<string>();
  const open: Json[] = [document];
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (typeof value !== "object" || value === null) continue;
    for (const [name, below] of Object.entries(value) as [string, Json][]) {
      if (name === "$ref" && typeof below === "string") found.add(documentOf(below, uri));
      else if (!data.has(name)) open.push(below);
    }
  }
  found.delete(uri);
  return found;
}

/** Members that hold values, not parts of the document. */
const data: ReadonlySet<string> = new Set(["example", "examples", "default", "enum", "const"]);
