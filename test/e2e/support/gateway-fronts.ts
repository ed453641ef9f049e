import { SdkHttpError, StreamableHTTPClientTransport as V2Transport } from "@modelcontextprotocol/client";
import { StreamableHTTPClientTransport as V1Transport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { z } from "zod";
import { type Official, type ToolResult, textOf } from "./official.ts";
import { type ExtensionEra, startTask } from "./official-tasks.ts";
import { openV1 } from "./official-v1.ts";
import { openV2 } from "./official-v2.ts";

/** A client of the official SDK in front of a gateway, and what each version and era does in its own way. */
export interface Front extends Official {
  /** Hears of changes of a resource. Resolves with what ends that. */
  subscribe(uri: string): Promise<() => Promise<unknown>>;
  /** Hears of changes of the list of tools. Resolves with what ends that. */
  listen(): Promise<() => Promise<unknown>>;
  /** What a call has to carry for its log messages to be heard. */
  readonly logging: Record<string, unknown>;
  /** Calls a method that the protocol does not define. */
  request(method: string, params: Record<string, unknown>): Promise<unknown>;
  /** Calls a tool as a task. Resolves once there is a task, with what waits for the text of its result. */
  startTask(name: string, args: Record<string, unknown>): Promise<() => Promise<string>>;
}

/** Where a gateway is, and the headers that say who calls. */
export interface FrontAddress {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface FrontKind {
  readonly front: "v1" | "v2, 2025-11-25" | "v2, 2026-07-28";
  open(address: FrontAddress): Promise<Front>;
}

/** The official clients: every version, in every era that it speaks. */
export const fronts: readonly FrontKind[] = [
  { front: "v1", open: openFirst },
  { front: "v2, 2025-11-25", open: openSession },
  { front: "v2, 2026-07-28", open: openModern },
];

async function openFirst({ url, headers }: FrontAddress): Promise<Front> {
  const session = await openV1(new V1Transport(new URL(url), { requestInit: { headers: { ...headers } } }) as never);
  const { client } = session;
  return Object.assign(session, {
    ...(await inSession(session)),
    request: (method: string, params: Record<string, unknown>) => client.request({ method, params }, z.looseObject({})),
    async startTask(name: string, args: Record<string, unknown>) {
      const stream = client.experimental.tasks.callToolStream({ name, arguments: args }, undefined, { task: {} });
      const { value: first } = await stream.next();
      if (first?.type === "error") throw first.error;
      return async () => {
        for await (const message of stream) {
          if (message.type === "error") throw message.error;
          if (message.type === "result") return textOf(message.result as ToolResult);
        }
        throw new Error("the task has ended without a result");
      };
    },
  });
}

async function openSession(address: FrontAddress): Promise<Front> {
  const session = await openV2(transportTo(address), "legacy");
  return Object.assign(session, await inSession(session), ofVersion2(session, address, "2025-11-25"));
}

async function openModern(address: FrontAddress): Promise<Front> {
  const session = await openV2(transportTo(address), "auto");
  const { client } = session;
  return Object.assign(session, ofVersion2(session, address, "2026-07-28"), {
    async subscribe(uri: string) {
      const subscription = await client.listen({ resourceSubscriptions: [uri] });
      return () => subscription.close();
    },
    async listen() {
      const subscription = await client.listen({ toolsListChanged: true });
      return () => subscription.close();
    },
    logging: { "io.modelcontextprotocol/logLevel": "debug" },
  });
}

function transportTo({ url, headers }: FrontAddress): V2Transport {
  return new V2Transport(new URL(url), { requestInit: { headers: { ...headers } } });
}

/** What clients of sessions do: they hear of lists without asking, and set one level of log messages for all calls. */
async function inSession({ client }: Official): Promise<Pick<Front, "subscribe" | "listen" | "logging">> {
  await client.setLoggingLevel("debug");
  return {
    async subscribe(uri) {
      await client.subscribeResource({ uri });
      return () => client.unsubscribeResource({ uri });
    },
    listen: async () => async () => {},
    logging: {},
  };
}

type Version2 = Awaited<ReturnType<typeof openV2>>;

function ofVersion2(
  { client }: Version2,
  address: FrontAddress,
  era: ExtensionEra,
): Pick<Front, "request" | "startTask"> {
  return {
    request: async (method, params) => {
      try {
        return await client.request({ method, params }, z.looseObject({}));
      } catch (error) {
        throw errorOfBody(error);
      }
    },
    startTask: (name, args) => startTask(client, { ...address, era }, name, args),
  };
}

/** The error of the protocol where the client tells only of the HTTP status: in 2026-07-28, 404 goes with it. */
function errorOfBody(error: unknown): unknown {
  if (!(error instanceof SdkHttpError) || typeof error.data.text !== "string") return error;
  return JSON.parse(error.data.text).error;
}
