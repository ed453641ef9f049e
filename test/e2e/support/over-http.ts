import { StreamableHTTPClientTransport as TransportV2 } from "@modelcontextprotocol/client";
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { createLog, type Log } from "./events.ts";
import type { Official } from "./official.ts";
import { openV1 } from "./official-v1.ts";
import { openV2 } from "./official-v2.ts";

/** A request a client has made, and how it was answered. */
export interface Sent {
  readonly method: string;
  readonly headers: Headers;
  readonly status: number;
  readonly type: string | null;
}

/** A client that is connected over HTTP, and what it sends. */
export interface HttpClient extends AsyncDisposable {
  readonly session: Official;
  readonly transport: { readonly sessionId: string | undefined; terminateSession(): Promise<void> };
  readonly sent: Log<Sent>;
}

/** The clients that open sessions, by version of the official SDK. */
export const sessionClients: readonly { readonly version: number; open(url: string): Promise<HttpClient> }[] = [
  {
    version: 1,
    async open(url) {
      const { fetch, sent } = watchFetch();
      const transport = new TransportV1(new URL(url), { fetch });
      return toClient(await openV1(transport), transport, sent);
    },
  },
  {
    version: 2,
    async open(url) {
      const { fetch, sent } = watchFetch();
      const transport = new TransportV2(new URL(url), { fetch });
      return toClient(await openV2(transport, "legacy"), transport, sent);
    },
  },
];

/** The client that needs no session. */
export async function openModern(url: string): Promise<HttpClient> {
  const { fetch, sent } = watchFetch();
  const transport = new TransportV2(new URL(url), { fetch });
  return toClient(await openV2(transport, { pin: "2026-07-28" }), transport, sent);
}

function toClient(session: Official, transport: HttpClient["transport"], sent: Log<Sent>): HttpClient {
  return { session, transport, sent, [Symbol.asyncDispose]: () => session.client.close() };
}

/** Requests as they go out, whose answers are noted as soon as their heads are there. */
export function watchFetch(): { fetch(url: string | URL, init?: RequestInit): Promise<Response>; sent: Log<Sent> } {
  const sent = createLog<Sent>();
  return {
    sent,
    async fetch(url, init = {}) {
      const response = await fetch(url, init);
      const { status, headers } = response;
      const { method = "GET" } = init;
      sent.add({ method, headers: new Headers(init.headers), status, type: headers.get("content-type") });
      return response;
    },
  };
}
