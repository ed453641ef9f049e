import { open } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { nodeHop } from "../../auth/node/node-hop.ts";
import { safePath } from "../../files/safe-path.ts";
import { McpError } from "../../protocol/errors.ts";
import type { Server } from "../../server/server.ts";
import { createOpenApi, type OpenApiOptions, type OpenApiPlatform } from "../open-api.ts";
import { tooLong } from "../parse-document.ts";

/**
 * Makes a server of an OpenAPI 3.0 or 3.1 document: each operation is a tool that sends its request. `document` is a URL,
 * the path of a file, the text of a document in JSON or YAML, or the document as an object.
 *
 * Rejects with `invalid-definition` for what is no such document, leads out of itself, or names a server that is not on the
 * public network. An operation that cannot be used is left out, and told to `onWarning`.
 */
export function openApi(document: string | URL | object, options: OpenApiOptions = {}): Promise<Server> {
  return createOpenApi(document, options, platform);
}

const platform: OpenApiPlatform = {
  hop: nodeHop,
  locate(document) {
    const text = String(document);
    if (/^(?:https?|file):\/\//i.test(text)) return new URL(text).href;
    if (/[\r\n]|^\s*[{[]/.test(text)) return undefined;
    return pathToFileURL(resolve(text)).href;
  },
  async readFile(uri, root, maxBytes) {
    const path = uri === root ? fileURLToPath(uri) : await beside(uri, root);
    try {
      await using file = await open(path);
      const stats = await file.stat();
      // A device has no end.
      if (!stats.isFile()) throw new McpError("invalid-definition", `the OpenAPI document ${path} is not a file`);
      if (stats.size > maxBytes) throw tooLong(path, maxBytes);
      return await file.readFile("utf8");
    } catch (error) {
      if (error instanceof McpError) throw error;
      const code = error instanceof Error && "code" in error ? String(error.code) : "unknown error";
      throw new McpError("invalid-definition", `the OpenAPI document ${path} cannot be read: ${code}`);
    }
  },
};

/** The path of a file that a document refers to: in the folder of the document, or in one below. */
async function beside(uri: string, root: string): Promise<string> {
  const folder = new URL(".", root).href;
  if (!uri.startsWith(folder)) {
    throw new McpError(
      "invalid-definition",
      "the OpenAPI document refers to a file outside of its folder, which is not read",
    );
  }
  return safePath(dirname(fileURLToPath(root)), decodeURIComponent(uri.slice(folder.length)));
}
