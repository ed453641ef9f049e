import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { StreamableHTTPClientTransport as V2Transport } from "@modelcontextprotocol/client";
import { StreamableHTTPClientTransport as V1Transport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connect } from "../../src/connect/index.ts";
import type { ApprovalChange, GatewayOptions, GatewayRule } from "../../src/gateway/index.ts";
import type { ServerEvent } from "../../src/protocol/server-event.ts";
import { redisProgram, startRedis, type TestRedis } from "../support/redis.ts";
import { startRoundRobin } from "../support/round-robin.ts";
import { type RuledGateway, serveRuled } from "../support/ruled-gateway.ts";
import type { Official } from "./support/official.ts";
import { openV1 } from "./support/official-v1.ts";
import { openV2 } from "./support/official-v2.ts";

// Who may do what at a gateway over HTTP, for users with tokens and clients of the official SDK.

const rules: readonly GatewayRule[] = [
  { action: "deny", name: "guests only look", groups: "guests", tools: ["bank:pay", "bank:close"] },
  { action: "deny", groups: "guests", resources: "bank://*" },
  { action: "deny", name: "large payments", tools: "bank:pay", arguments: { amount: { oneOf: [1_000_000] } } },
  { action: "approve", name: "payments", tools: "bank:pay" },
  { action: "approve", name: "closing", tools: "bank:close", approve: "caller" },
  { action: "redact", name: "accounts", redact: { members: "iban", patterns: "DE\\d{20}" } },
];

const headers = (token: string) => ({ requestInit: { headers: { authorization: `Bearer ${token}` } } });

const clients: readonly { readonly client: string; open(url: string, token: string): Promise<Official> }[] = [
  { client: "v1", open: (url, token) => openV1(new V1Transport(new URL(url), headers(token)) as never) },
  { client: "v2, 2025-11-25", open: (url, token) => openV2(new V2Transport(new URL(url), headers(token)), "legacy") },
  { client: "v2, 2026-07-28", open: (url, token) => openV2(new V2Transport(new URL(url), headers(token)), "auto") },
];

async function nextOf(changes: AsyncIterable<ApprovalChange>, kind: ApprovalChange["kind"]): Promise<ApprovalChange> {
  for await (const change of changes) if (change.kind === kind) return change;
  throw new Error("there are no more changes");
}

/** Answers the next call that waits. Resolves with what it was told of the call. */
async function answerNext({ gateway }: RuledGateway, approved: boolean): Promise<ApprovalChange["approval"]> {
  const { approval } = await nextOf(gateway.approvals.changes(), "waiting");
  await gateway.approvals.answer(approval.id, { approved, by: "boss", reason: approved ? undefined : "too much" });
  return approval;
}

describe.each(clients)("rules over HTTP, for clients of $client", ({ open }) => {
  const events: ServerEvent[] = [];
  let served: RuledGateway;
  let ann: Official;
  let guest: Official;

  beforeAll(async () => {
    served = await serveRuled({ rules, onEvent: (event) => events.push(event) });
    const { url } = served.serving;
    [ann, guest] = await Promise.all([open(url, "staff.ann"), open(url, "guests.gus")]);
  });
  afterAll(async () => {
    await Promise.all([ann.client.close(), guest.client.close()]);
    await served[Symbol.asyncDispose]();
  });

  it("show each user its own tools, resources and prompts", async () => {
    const names = async ({ client }: Official) => (await client.listTools()).tools.map(({ name }) => name).sort();
    expect(await names(ann)).toEqual(["bank__balance", "bank__close", "bank__pay"]);
    expect(await names(guest)).toEqual(["bank__balance"]);
    expect((await guest.client.listResources()).resources).toEqual([]);
    expect((await guest.client.listResourceTemplates()).resourceTemplates).toEqual([]);
    expect((await ann.client.listResources()).resources).toHaveLength(1);
    expect((await guest.client.listPrompts()).prompts).toHaveLength(1);
    await expect(guest.client.readResource({ uri: "bank://terms" })).rejects.toThrow("no server has the resource");
    await expect(guest.call("bank__pay", { amount: 1 })).rejects.toThrow("unknown tool");
  });

  it("refuse what arguments make different", async () => {
    await expect(ann.call("bank__pay", { amount: 1_000_000 })).rejects.toThrow("denied by rule 3 (large payments)");
  });

  it("hide parts of results", async () => {
    const result = await ann.callTool({ name: "bank__balance" });
    expect(JSON.stringify(result)).not.toContain("DE02");
    expect(JSON.stringify(result)).toContain("[redacted]");
  });

  it("let a call wait for a person, and tell its caller so", async () => {
    const heard: object[] = [];
    const answered = answerNext(served, true);
    const params = { name: "bank__pay", arguments: { amount: 7 } };
    const result = await ann.callTool(params, { onprogress: (progress) => heard.push(progress) });
    expect(result).toMatchObject({ content: [{ text: "paid 7 at bank" }] });
    expect(heard).toMatchObject([{ progress: 0, message: "pay waits for approval" }]);
    expect(await answered).toMatchObject({ principal: "ann", server: "bank", name: "pay", arguments: { amount: 7 } });
    const refused = answerNext(served, false);
    await expect(ann.call("bank__pay", { amount: 7 })).rejects.toThrow("was not approved: too much");
    await refused;
  });

  it("let the user of the client approve, and its server ask after that", async () => {
    const asked: string[] = [];
    ann.fill = ({ message }) => {
      asked.push(message.split("\n")[0] ?? "");
      return { action: "accept", content: { approve: true, ok: true } };
    };
    expect(await ann.call("bank__close")).toBe("closed: true at bank");
    expect(asked).toEqual(["Allow this call of close at bank?", "Really?"]);
    ann.fill = () => ({ action: "decline" });
    await expect(ann.call("bank__close")).rejects.toThrow("not approved by its caller");
  });

  it("take the question back when the caller cancels", async () => {
    const waiting = nextOf(served.gateway.approvals.changes(), "waiting");
    const cancelled = nextOf(served.gateway.approvals.changes(), "cancelled");
    const abort = new AbortController();
    const call = ann.callTool({ name: "bank__pay", arguments: { amount: 3 } }, { signal: abort.signal });
    call.catch(() => {});
    await waiting;
    abort.abort("enough");
    await expect(call).rejects.toThrow();
    expect((await cancelled).approval.arguments).toEqual({ amount: 3 });
    expect(await served.gateway.approvals.list()).toEqual([]);
  });

  it("are told of in events, with who called what at which server", () => {
    const calls = events.filter(({ method }) => method === "tools/call");
    expect(calls).toContainEqual(
      expect.objectContaining({ principal: "ann", rule: "large payments", decision: "deny" }),
    );
    expect(calls).toContainEqual(expect.objectContaining({ approvedBy: "boss", server: "bank", rule: "payments" }));
    expect(calls).toContainEqual(expect.objectContaining({ approvedBy: "the caller", rule: "closing" }));
    expect(calls).toContainEqual(
      expect.objectContaining({ principal: "gus", outcome: "failed", code: "invalid-params" }),
    );
    expect(JSON.stringify(events)).not.toMatch(/DE02|1000000/);
  });
});

it("turns away who has no token, and tells of it", async () => {
  const events: ServerEvent[] = [];
  await using served = await serveRuled({ rules, onEvent: (event) => events.push(event) });
  const accepted = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const response = await fetch(served.serving.url, { method: "POST", body: "{}", headers: accepted });
  expect(response.status).toBe(401);
  expect(events).toMatchObject([{ kind: "refused", code: "unauthorized", status: 401 }]);
});

describe.skipIf(redisProgram === undefined)("rules in several processes with Redis", () => {
  let redis: TestRedis;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis[Symbol.asyncDispose]());

  const options: GatewayOptions = { rules };
  const startOther = async (name: string) => {
    const path = fileURLToPath(new URL("../fixtures/children/ruled-gateway.ts", import.meta.url));
    const child: ChildProcess = fork(path, [redis.url, name, JSON.stringify(options)], {
      execArgv: ["--import", import.meta.resolve("tsx")],
    });
    const [{ port }] = (await once(child, "message")) as [{ port: number }];
    return {
      port,
      url: `http://127.0.0.1:${port}/mcp`,
      async [Symbol.asyncDispose]() {
        const gone = child.exitCode === null && child.signalCode === null ? once(child, "exit") : undefined;
        child.kill("SIGKILL");
        await gone;
      },
    };
  };

  it.each(clients)("a call of a client of $client in one is approved in another", async ({ open }) => {
    await using here = await serveRuled(options, { redis: redis.url });
    await using other = await startOther("there");
    const ann = await open(other.url, "staff.ann");
    const answered = answerNext(here, true);
    expect(await ann.call("bank__pay", { amount: 5 })).toBe("paid 5 at there");
    expect(await answered).toMatchObject({ principal: "ann", arguments: { amount: 5 } });
    await ann.client.close();
  });

  it.each(clients)("a client of $client comes back to another after the first was killed", async ({ open }) => {
    await using here = await serveRuled(options, { redis: redis.url, name: "here" });
    const other = await startOther("there");
    const before = await open(other.url, "staff.ann");
    const waiting = nextOf(here.gateway.approvals.changes(), "waiting");
    const lost = before.call("bank__pay", { amount: 6 });
    lost.catch(() => {});
    const { approval } = await waiting;
    await other[Symbol.asyncDispose]();
    await here.gateway.approvals.answer(approval.id, { approved: true, by: "boss" });
    const thief = await open(here.serving.url, "staff.bob");
    const stolen = nextOf(here.gateway.approvals.changes(), "waiting");
    thief.call("bank__pay", { amount: 6 }).catch(() => {});
    expect((await stolen).approval.principal).toBe("bob");
    const after = await open(here.serving.url, "staff.ann");
    expect(await after.call("bank__pay", { amount: 6 })).toBe("paid 6 at here");
    await Promise.all([before, thief, after].map(({ client }) => client.close()));
    await here.gateway.approvals.answer((await stolen).approval.id, { approved: false, by: "boss" }).catch(() => {});
  });

  it("a caller that approves itself is asked by one, which is killed, and goes on at another", async () => {
    await using here = await serveRuled(options, { redis: redis.url, name: "here" });
    const other = await startOther("there");
    await using front = await startRoundRobin([other.port]);
    const asked: string[] = [];
    const onElicit = async ({ message }: { readonly message: string }) => {
      asked.push(message.split("\n")[0] ?? "");
      if (asked.length === 1) await other[Symbol.asyncDispose]();
      front.ports = [here.serving.port];
      return { action: "accept", content: { approve: true, ok: true } } as const;
    };
    await using ann = await connect(front.url, {
      revision: "2026-07-28",
      headers: { authorization: "Bearer staff.ann" },
      onElicit,
    });
    expect(await ann.callTool("bank__close")).toMatchObject({ content: [{ text: "closed: true at here" }] });
    expect(asked).toEqual(["Allow this call of close at bank?", "Really?"]);
  });
});
