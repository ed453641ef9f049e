import type { JsonObject } from "../../json/json.ts";
import { keepText } from "../../json/text.ts";
import { methodRow } from "../../model/methods.ts";
import type { Implementation } from "../../model/peer.ts";

/** Encodes a result, or finds what it encoded before. */
type Remember = (
  method: string,
  result: JsonObject,
  server: Implementation | undefined,
  encode: (method: string, result: JsonObject, server: Implementation | undefined) => JsonObject,
) => JsonObject;

/**
 * Remembers how the lists of a server were encoded, and their text.
 *
 * A list counts when nothing can change it: the server froze it, and no author
 * code runs to make it anew. It is forgotten with the list itself.
 */
export function createMemory(): Remember {
  const known = new WeakMap<JsonObject, Encoded>();

  return (method, result, server, encode) => {
    // What handlers make is not frozen, mostly: this is the quickest to find out.
    if (!(Object.isFrozen(result) && isLasting(method))) return encode(method, result, server);
    const before = known.get(result);
    if (before !== undefined && before.method === method && before.server === server) return before.encoded;
    const encoded = keepText(encode(method, result, server));
    known.set(result, { method, server, encoded });
    return encoded;
  };
}

interface Encoded {
  readonly method: string;
  readonly server: Implementation | undefined;
  readonly encoded: JsonObject;
}

function isLasting(method: string): boolean {
  const { cacheable, runs } = methodRow(method);
  return cacheable === true && runs !== true;
}
