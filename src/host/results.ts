import type { Json } from "../json/json.ts";
import { createLedger } from "../protocol/budget.ts";
import type { Content, ResourceContents, ResourceLink } from "../protocol/content.ts";
import { McpError } from "../protocol/errors.ts";
import { createShares, type Share } from "../protocol/shares.ts";
import type { CallToolResult } from "../protocol/tool.ts";
import type { Clock } from "../std/clock.ts";

/** How much a tool may give at once. More becomes pages that can be read one by one. */
export interface ResultLimits {
  /** Characters, of text as of Base64. Default 262,144. */
  readonly maxChars?: number | undefined;
  /** Of the text that the result starts with instead. Default 4,000. */
  readonly previewChars?: number | undefined;
  /** Default 32,768. */
  readonly pageChars?: number | undefined;
  /** How long pages can be read. Default 10 min. */
  readonly keepMs?: number | undefined;
  /** Of all pages together; the oldest results of the caller with most of them go first. Default 64 Mi. */
  readonly maxKeptChars?: number | undefined;
}

/** Results that were too large, page by page. */
export interface Results {
  /** The result, or its beginning with a link to the rest. */
  fit(tool: string, result: CallToolResult, caller?: Caller): CallToolResult;
  /**
   * A page. Undefined when the URI is none of a page. Throws `resource-not-found` when it is not kept any more, or was
   * given to another principal.
   */
  read(uri: string, principal?: string): { readonly contents: readonly ResourceContents[] } | undefined;
}

/** Who a result goes to, where that is not the host itself. */
interface Caller {
  /** Who may read the pages, where that is known. */
  readonly principal: string | undefined;
}

/** What pages are found under, followed by an id and the number of the page, from 1. */
const scheme = "plugbay-result:";

/** Where a cut result says so, for programs: `{ uri, pages, chars }`. */
export const cutKey = "plugbay/cut";

interface Kept {
  readonly pages: readonly ResourceContents[];
  readonly share: Share;
  readonly until: number;
  readonly principal: string | undefined;
}

/** The account of the host itself, and of callers that nobody knows. */
const NOBODY = "";

export function createResults(budget: ResultLimits, clock: Clock): Results {
  const {
    maxChars = 262_144,
    previewChars = 4_000,
    pageChars = 32_768,
    keepMs = 600_000,
    maxKeptChars = 64 * 1024 * 1024,
  } = budget;
  const ledger = createLedger({ process: { maxHeldBytes: maxKeptChars } }, undefined, "resultLimits");
  const shares = createShares(ledger, clock);
  const kept = new Map<string, Kept>();

  const drop = (id: string): void => {
    kept.get(id)?.share.release();
    kept.delete(id);
  };

  /** Who has most of them makes room first: no caller pushes out what another one keeps that has less. */
  const keep = (id: string, pages: readonly ResourceContents[], chars: number, principal: string | undefined): void => {
    for (const [oldest, { until }] of kept) {
      if (until > clock.now()) break;
      drop(oldest);
    }
    const share = shares.hold(principal ?? NOBODY, { heldBytes: chars });
    share.yields(() => {
      kept.delete(id);
      return {};
    });
    kept.set(id, { pages, share, until: clock.now() + keepMs, principal });
  };

  return {
    fit(tool, result, caller) {
      if (weighResult(result, maxChars) <= maxChars) return result;
      // A page is known only to whoever was given its link.
      const id = crypto.randomUUID();
      const pages = [...toPages(`${scheme}///${id}`, result, pageChars)];
      const chars = pages.reduce((sum, page) => sum + ("text" in page ? page.text.length : page.blob.length), 0);
      keep(id, pages, chars, caller?.principal);
      const uri = `${scheme}///${id}/1`;
      const link: ResourceLink = { type: "resource_link", uri, name: `${tool}, page 1 of ${pages.length}` };
      const note = `[cut: ${chars} characters on ${pages.length} pages. Read the resource ${uri} and on, up to /${pages.length}.]`;
      return {
        content: [...preview(result.content, previewChars), { type: "text", text: note }, link],
        ...((result.isError === true || breaksPromise(result, caller)) && { isError: true }),
        _meta: { ...result._meta, [cutKey]: { uri, pages: pages.length, chars } },
      };
    },
    read(uri, principal) {
      if (!uri.startsWith(scheme)) return undefined;
      const [, id = "", page = ""] = /^plugbay-result:\/\/\/([0-9a-f-]{36})\/([1-9]\d{0,6})$/.exec(uri) ?? [];
      const found = kept.get(id);
      if (found !== undefined && found.until <= clock.now()) drop(id);
      const isTheirs = kept.get(id)?.principal === principal;
      const contents = isTheirs ? kept.get(id)?.pages[Number(page) - 1] : undefined;
      if (contents !== undefined) return { contents: [contents] };
      throw new McpError("resource-not-found", `${uri} is not kept: call the tool again`, { data: { uri } });
    },
  };
}

/** A client may insist on the structured content that the tool has promised, unless the call has failed. */
function breaksPromise({ structuredContent }: CallToolResult, caller: Caller | undefined): boolean {
  return structuredContent !== undefined && caller !== undefined;
}

/** The beginning of the text. */
function preview(content: readonly Content[], maxChars: number): readonly Content[] {
  const text = content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
  return text === "" ? [] : [{ type: "text", text: text.slice(0, wholeEnd(text, maxChars)) }];
}

/** Everything a result has, in pieces. */
function* toPages(base: string, result: CallToolResult, pageChars: number): Iterable<ResourceContents> {
  let page = 0;
  const next = (): string => `${base}/${++page}`;
  const ofText = function* (text: string, mimeType: string): Iterable<ResourceContents> {
    for (let at = 0; at < text.length || at === 0; ) {
      const end = wholeEnd(text, at + pageChars);
      yield { uri: next(), mimeType, text: text.slice(at, end) };
      at = Math.max(end, at + 1);
    }
  };
  const texts = new Set<string>();
  for (const block of result.content) {
    if (block.type === "text") {
      texts.add(block.text);
      yield* ofText(block.text, "text/plain");
    } else if (block.type === "image" || block.type === "audio") {
      yield { uri: next(), mimeType: block.mimeType, blob: block.data };
    } else if (block.type === "resource" && "text" in block.resource) {
      yield* ofText(block.resource.text, block.resource.mimeType ?? "text/plain");
    } else if (block.type === "resource") {
      yield { ...block.resource, uri: next() };
    } else {
      yield* ofText(JSON.stringify(block), "application/json");
    }
  }
  if (result.structuredContent === undefined) return;
  const structured = JSON.stringify(result.structuredContent);
  if (!texts.has(structured)) yield* ofText(structured, "application/json");
}

/** Where to cut so that no character is torn apart. */
function wholeEnd(text: string, at: number): number {
  if (at >= text.length) return text.length;
  const unit = text.charCodeAt(at - 1);
  return unit >= 0xd800 && unit <= 0xdbff ? at - 1 : at;
}

/** About how many characters a result has, counted no further than the limit. */
function weighResult({ content, structuredContent }: CallToolResult, limit: number): number {
  let sum = 0;
  for (const block of content) sum += weighBlock(block);
  // The two say the same, mostly: the larger counts.
  if (structuredContent === undefined || sum > limit) return sum;
  return Math.max(sum, weighJson(structuredContent, limit));
}

function weighBlock(block: Content): number {
  switch (block.type) {
    case "text":
      return block.text.length;
    case "image":
    case "audio":
      return block.data.length;
    case "resource":
      return "text" in block.resource ? block.resource.text.length : block.resource.blob.length;
    case "resource_link":
      return block.uri.length + block.name.length;
  }
}

function weighJson(value: Json, limit: number): number {
  const open: (Json | undefined)[] = [value];
  let sum = 0;
  while (open.length > 0 && sum <= limit) {
    const next = open.pop();
    if (typeof next === "string") {
      sum += next.length + 2;
    } else if (typeof next === "object" && next !== null) {
      const keys = Object.keys(next);
      sum += keys.length + (Array.isArray(next) ? 2 : keys.join("").length);
      if (sum <= limit) open.push(...Object.values(next));
    } else {
      sum += 4;
    }
  }
  return sum;
}
