import * as http from "node:http";
import * as https from "node:https";
import { Readable } from "node:stream";
import { McpError } from "../../protocol/errors.ts";
import { guardedLookup } from "../../std/node/guarded-lookup.ts";
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
    const outgoing = request(url, {
      method,
      headers: fields,
      signal,
      agent: false,
      lookup: guardedLookup((address) => allows(address), notAllowed),
    });
    outgoing.on("response", (incoming) => {
      const { "content-encoding": coding = "identity" } = incoming.headers;
      if (coding.toLowerCase() === "identity") return done(toResponse(incoming));
      incoming.destroy();
      reject(new McpError("invalid-response", `${url.origin} sent a body in a coding that was not asked for`));
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });

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
