import { lookup as resolve } from "node:dns";
import * as http from "node:http";
import * as https from "node:https";
import type { LookupFunction } from "node:net";
import { Readable } from "node:stream";
import { McpError } from "../../model/errors.ts";
import type { Hop } from "../safe-fetch.ts";

/**
 * Sends one request over a connection of its own. The name of the host is
 * resolved once, and the connection goes to an address that was checked.
 */
export const nodeHop: Hop = ({ url, method, headers, body, signal, allows }) =>
  new Promise((done, reject) => {
    const { request } = url.protocol === "https:" ? https : http;
    const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
    const fields = { ...headers, ...length, "accept-encoding": "identity", connection: "close" };
    const outgoing = request(url, { method, headers: fields, signal, agent: false, lookup: guarded(allows) });
    outgoing.on("response", (incoming) => done(toResponse(incoming)));
    outgoing.on("error", reject);
    outgoing.end(body);
  });

/** Resolves a name to the addresses that are allowed. Fails when there are none. */
function guarded(allows: (address: string) => boolean): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null) return callback(error, "");
      const allowed = found.filter(({ address }) => allows(address));
      const [first] = allowed;
      if (first === undefined) return callback(notAllowed(hostname), "");
      return options.all === true ? callback(null, allowed) : callback(null, first.address, first.family);
    });
  };
}

function notAllowed(hostname: string): McpError {
  const data = { reason: "address-not-allowed" };
  return new McpError("invalid-response", `${hostname} is not asked: it is not on the public network`, { data });
}

function toResponse(incoming: http.IncomingMessage): Response {
  const headers = new Headers();
  for (let index = 0; index + 1 < incoming.rawHeaders.length; index += 2) {
    headers.append(incoming.rawHeaders[index] ?? "", incoming.rawHeaders[index + 1] ?? "");
  }
  const status = incoming.statusCode ?? 0;
  const isEmpty = [204, 205, 304].includes(status);
  if (isEmpty) incoming.resume();
  return new Response(isEmpty ? null : (Readable.toWeb(incoming) as ReadableStream<Uint8Array>), { status, headers });
}
