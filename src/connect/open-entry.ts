import { toWarn } from "../client/warning.ts";
import { serverFromModule } from "../modules/server-from-module.ts";
import { openApi } from "../openapi/node/open-api.ts";
import { McpError } from "../protocol/errors.ts";
import type { Service } from "../protocol/service.ts";
import type { ConnectOptions } from "./connect-options.ts";
import type { ModuleEntry, OpenApiEntry } from "./target.ts";

/** Makes a server in this process of a document or a module. */
export async function openEntry(entry: OpenApiEntry | ModuleEntry, options: ConnectOptions): Promise<Service> {
  if (entry.type === "module") return serverFromModule(entry.module);
  const { headers: given = {}, clock, allowInsecureHttp } = options;
  if (typeof given === "function") {
    throw new McpError("unsupported", "headers must be an object for an OpenAPI document, not a function");
  }
  const { document, baseUrl, include, exclude, headers } = entry;
  const warn = options.onWarning && toWarn(options.onWarning);
  return openApi(document, {
    ...{ baseUrl, include, exclude, allowInsecureHttp },
    headers: { ...headers, ...given },
    server: { clock },
    onWarning: warn && ((message) => warn({ kind: "tool-left-out", message })),
  });
}
