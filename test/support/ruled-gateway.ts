import { bearer } from "../../src/auth/server/index.ts";
import { type Gateway, type GatewayOptions, openGateway } from "../../src/gateway/index.ts";
import { createServer, prompt, resource, tool } from "../../src/server/index.ts";
import { redisStore } from "../../src/store/node/redis-store.ts";
import type { Store } from "../../src/store/store.ts";
import { type HttpServeHandle, serveHttp } from "../../src/transport/node/serve-http.ts";

/** A gateway with users, over HTTP. */
export interface RuledGateway extends AsyncDisposable {
  readonly gateway: Gateway;
  readonly serving: HttpServeHandle;
}

/** Serves a gateway in front of a bank. Tokens are names of users, a group and a dot before them. */
export async function serveRuled(
  options: GatewayOptions,
  { redis, name = "bank" }: { readonly redis?: string; readonly name?: string } = {},
): Promise<RuledGateway> {
  const store: Store | undefined = redis === undefined ? undefined : await redisStore(redis);
  const gateway = await openGateway({ bank: createBank(name) }, { stateKeys, store, ...options });
  const serving = await serveHttp(gateway, { port: 0, auth: bearer((token) => userOf(token)) });
  return {
    gateway,
    serving,
    async [Symbol.asyncDispose]() {
      await serving.close();
      await gateway.close();
      await store?.close();
    },
  };
}

const stateKeys = ["0123456789abcdef".repeat(4)];

function userOf(token: string) {
  const [group, principal] = token.split(".");
  return group && principal ? { principal, claims: { groups: [group] } } : undefined;
}

const amount = { type: "object", properties: { amount: { type: "number" } }, required: ["amount"] } as const;
const form = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] } as const;

function createBank(name: string) {
  return createServer({
    name: "bank",
    version: "1",
    stateKeys,
    tools: {
      balance: tool({
        annotations: { readOnlyHint: true },
        run: () => ({ owner: "Ann", iban: "DE02120300000000202051" }),
      }),
      pay: tool({ input: amount, run: ({ amount }) => `paid ${amount} at ${name}` }),
      close: tool({ run: async (_, ctx) => `closed: ${(await ctx.ask("Really?", form)).ok} at ${name}` }),
    },
    prompts: { letter: prompt({ get: () => "Dear" }) },
    resources: [
      resource("bank://terms", { read: () => "small print" }),
      resource("bank://{account}/log", { read: () => "log" }),
    ],
  });
}
