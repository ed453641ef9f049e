import { McpError } from "../model/errors.ts";
import { type DiscoverResult, type Method, methodRow, type Params, type Result } from "../model/methods.ts";
import type { ResponseCache } from "./cache.ts";
import type { CachedCallOptions } from "./call-options.ts";
import { walk } from "./paging.ts";
import type { Requests } from "./request.ts";

/** The methods whose results come in pages. */
export type ListMethod = "tools/list" | "resources/list" | "resources/templates/list" | "prompts/list";

export interface PagesOptions extends CachedCallOptions {
  /** Where to start. Absent means the first page. */
  readonly cursor?: string | undefined;
}

/** Requests that heed what the protocol says of their method. */
export interface Calls {
  /** Fails with `unsupported` when the server does not offer the method. Uses the cache where results may be kept. */
  call<M extends Method>(method: M, params: Params<M>, options?: CachedCallOptions): Promise<Result<M>>;
  pages<M extends ListMethod>(method: M, options?: PagesOptions): AsyncIterable<Result<M>>;
  /** The items of all pages. */
  list<M extends ListMethod, I>(
    method: M,
    items: (page: Result<M>) => readonly I[],
    options?: CachedCallOptions,
  ): Promise<readonly I[]>;
}

export interface CallsOptions {
  readonly server: DiscoverResult;
  readonly requests: Requests;
  readonly cache: ResponseCache | undefined;
  readonly maxPages: number;
}

export function createCalls({ server, requests, cache, maxPages }: CallsOptions): Calls {
  const reading = cache && { service: cache.reading };
  const refreshing = cache && { service: cache.refreshing };

  const call: Calls["call"] = (method, params, options) => {
    const { capability, cacheable } = methodRow(method);
    if (capability !== undefined && server.capabilities[capability] === undefined) {
      return Promise.reject(unsupported(server, method, capability));
    }
    if (cacheable !== true) return requests.send(method, params, options);
    return requests.send(method, params, options, options?.fresh === true ? refreshing : reading);
  };

  const pages: Calls["pages"] = (method, options) => {
    const fetchPage = (cursor: string | undefined) => call(method, cursor === undefined ? {} : { cursor }, options);
    return walk(fetchPage, { method, maxPages, cursor: options?.cursor });
  };

  return {
    call,
    pages,
    async list(method, items, options) {
      try {
        return await gather(pages(method, options), items);
      } catch (error) {
        if (cache === undefined || options?.fresh === true || !isLostCursor(error)) throw error;
      }
      return gather(pages(method, { ...options, fresh: true }), items);
    },
  };
}

async function gather<P, I>(pages: AsyncIterable<P>, items: (page: P) => readonly I[]): Promise<readonly I[]> {
  const all: I[] = [];
  for await (const page of pages) for (const item of items(page)) all.push(item);
  return all;
}

/** A kept page may lead to a cursor the server has forgotten. */
function isLostCursor(error: unknown): boolean {
  return error instanceof McpError && error.code === "invalid-params";
}

/** The error of a call that the server has no capability for. */
export function unsupported({ serverInfo }: DiscoverResult, method: string, capability: string): McpError {
  const message = `${method} needs the capability ${capability}, which ${serverInfo.name} does not have`;
  return new McpError("unsupported", message);
}
