import { isObject, type Json, type JsonObject } from "../../../json/json.ts";
import { type ParamHeader, paramHeaderValues, readParamHeaders } from "../../../schema/param-headers.ts";
import { quote } from "../../../std/text.ts";

/** Something that went wrong without failing a request. */
export interface HttpWarning {
  readonly kind: "tool-left-out" | "not-honoured";
  readonly message: string;
  readonly cause?: unknown;
}

export type HttpWarn = (warning: HttpWarning) => void;

/** Which arguments of which tools have to be repeated in headers. */
export interface KnownTools {
  /** Learns from a page of the list of tools. Returns it without the tools that cannot be called over HTTP. */
  learn(page: JsonObject): JsonObject;
  /** The headers for params of `tools/call`. Undefined for a tool that needs none, or was never listed. */
  headersFor(params: JsonObject): Readonly<Record<string, string>> | undefined;
}

export function createKnownTools(warn: HttpWarn): KnownTools {
  /** Only of tools that have any. */
  const known = new Map<string, readonly ParamHeader[]>();

  const isUsable = (tool: Json): boolean => {
    if (!isObject(tool) || typeof tool.name !== "string" || !isObject(tool.inputSchema)) return true;
    const read = readParamHeaders(tool.inputSchema);
    if (read.ok && read.headers.length > 0) known.set(tool.name, read.headers);
    else known.delete(tool.name);
    if (read.ok) return true;
    warn({ kind: "tool-left-out", message: `tool ${quote(tool.name)} is left out: ${read.problem}` });
    return false;
  };

  return {
    learn(page) {
      const { tools } = page;
      if (!Array.isArray(tools)) return page;
      const usable = tools.filter(isUsable);
      return usable.length === tools.length ? page : { ...page, tools: usable };
    },
    headersFor({ name, arguments: args }) {
      const headers = typeof name === "string" ? known.get(name) : undefined;
      if (headers === undefined) return undefined;
      return Object.fromEntries(paramHeaderValues(headers, isObject(args) ? args : undefined));
    },
  };
}
