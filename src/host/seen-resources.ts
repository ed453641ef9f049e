import { accountOf } from "../protocol/account.ts";
import type { Content, ResourceContents } from "../protocol/content.ts";
import type { CallOf } from "../protocol/service.ts";
import { uiUriOf } from "./ui-resources.ts";

/**
 * The resources that results have named to callers. A server may name one that no list has: in a link, in what it embeds,
 * or as the user interface of a result. Each caller has the latest 256, so that nobody decides what the URIs of others
 * lead to.
 */
export interface SeenResources {
  /** Remembers the resources that a result of a server names. */
  note(caller: CallOf, server: string, result: object): void;
  /** The servers that have named a URI to this caller, the latest first. */
  serversOf(caller: CallOf, uri: string): readonly string[];
}

const maxCallers = 1_000;
const maxUris = 256;
const maxChars = 2_048;

export function createSeenResources(): SeenResources {
  const byCaller = new Map<string, Map<string, readonly string[]>>();
  return {
    note(caller, server, result) {
      const uris = urisIn(result);
      if (uris.length === 0) return;
      const account = accountOf(caller);
      const seen = byCaller.get(account) ?? new Map<string, readonly string[]>();
      putLast(byCaller, account, seen, maxCallers);
      for (const uri of uris.slice(-maxUris)) {
        const others = (seen.get(uri) ?? []).filter((other) => other !== server);
        putLast(seen, uri, [server, ...others], maxUris);
      }
    },
    serversOf: (caller, uri) => byCaller.get(accountOf(caller))?.get(uri) ?? [],
  };
}

/** Puts an entry at the end of a table, and takes the first one out where there are too many. */
function putLast<K, V>(table: Map<K, V>, key: K, value: V, max: number): void {
  table.delete(key);
  table.set(key, value);
  const [first] = table.keys();
  if (table.size > max && first !== undefined) table.delete(first);
}

interface Naming {
  readonly content?: readonly Content[];
  readonly messages?: readonly { readonly content: Content }[];
  readonly contents?: readonly ResourceContents[];
}

/** The URIs that the result of a tool, of a prompt or of a resource names. */
function urisIn(result: object): readonly string[] {
  const { content = [], messages = [], contents = [] } = result as Naming;
  const found: (string | undefined)[] = [uiUriOf(result)];
  for (const block of content) found.push(uriOf(block));
  for (const message of messages) found.push(uriOf(message.content));
  for (const { uri } of contents) found.push(uri);
  return found.filter((uri) => uri !== undefined && uri.length <= maxChars) as readonly string[];
}

function uriOf(block: Content): string | undefined {
  if (block.type === "resource_link") return block.uri;
  return block.type === "resource" ? block.resource.uri : undefined;
}
