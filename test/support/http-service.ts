import { createServer, resource, type Server, tool } from "../../src/server/index.ts";
import { gate } from "./served.ts";

const text = { type: "object", properties: { text: { type: "string" } }, required: ["text"] } as const;
const count = {
  type: "object",
  properties: { n: { type: "integer" }, size: { type: "integer" }, paced: { type: "boolean" } },
  required: ["n"],
} as const;

/** A server whose tools do what matters to those who wait for them over HTTP. */
export interface HttpService {
  readonly server: Server;
  /** Signals of the calls of `hold`, in order. */
  readonly held: AbortSignal[];
  /** Resolves when so many calls of `hold` have begun. */
  holding(atLeast: number): Promise<void>;
  /** Lets every call of `hold` end. */
  release(): void;
}

export function createHttpService(): HttpService {
  const hold = gate();
  const held: AbortSignal[] = [];
  const waiting = new Set<() => void>();
  const extra = tool({ run: () => "here" });

  const server = createServer({
    name: "http-service",
    version: "1",
    logging: true,
    listChanged: true,
    subscribe: true,
    timeoutMs: 0,
    stateKeys: ["3cEDg27oIL_V-ILeoe_VehUlnEJoLp6vI9k6eSlNG8E"],
    onError: () => {},
    resources: [
      resource("test://watched", { read: () => "watched" }),
      /** Hangs up, then waits like `hold`. */
      resource("test://polled/{name}", {
        read: async (_, ctx) => {
          ctx.closeStream(10);
          await hold.opened;
          return "polled";
        },
      }),
    ],
    tools: {
      echo: tool({ input: text, run: (input) => input.text }),
      /** Ends when the test says so, or when it is cancelled. */
      hold: tool({
        run: async (_, { signal }) => {
          held.push(signal);
          for (const check of waiting) check();
          const aborted = new Promise((_resolve, reject) => {
            signal.addEventListener("abort", () => reject(signal.reason), { once: true });
          });
          await Promise.race([hold.opened, aborted]);
          return "held";
        },
      }),
      /** Says `n` things, and waits for who is slow to hear them. */
      count: tool({
        input: count,
        run: async ({ n, size = 0, paced = false }, ctx) => {
          for (let at = 1; at <= n; at++) {
            await ctx.log("info", { at, padding: "x".repeat(size) });
            if (paced) await new Promise((resolve) => setImmediate(resolve));
          }
          return `counted to ${n}`;
        },
      }),
      big: tool({ input: count, run: ({ n }) => "x".repeat(n) }),
      /** Says something first, so that the answer is an event. */
      bigEvent: tool({
        input: count,
        run: async ({ n }, ctx) => {
          await ctx.log("info", "it will be big");
          return "x".repeat(n);
        },
      }),
      ask: tool({
        input: text,
        run: async (input, ctx) => {
          const form = { type: "object", properties: { reply: { type: "string" } }, required: ["reply"] } as const;
          return `${input.text}: ${(await ctx.ask(input.text, form)).reply}`;
        },
      }),
      /** Hangs up, then waits like `hold`. */
      poll: tool({
        run: async (_, ctx) => {
          held.push(ctx.signal);
          ctx.closeStream(10);
          for (const check of waiting) check();
          await hold.opened;
          return "polled";
        },
      }),
      facts: tool({
        run: (_, { http }) => `${http?.method} ${http?.url} ${http?.header("x-fact")} ${http?.remoteAddress}`,
      }),
      bump: tool({
        run: () => {
          if (!server.tools.remove("bumped")) server.tools.add("bumped", extra);
          return "bumped";
        },
      }),
      boom: tool({
        run: () => {
          throw new Error("secret-of-the-handler");
        },
      }),
    },
  });

  return {
    server,
    held,
    holding: (atLeast) =>
      new Promise((resolve) => {
        const check = (): void => {
          if (held.length < atLeast) return;
          waiting.delete(check);
          resolve();
        };
        waiting.add(check);
        check();
      }),
    release: () => hold.open(),
  };
}
