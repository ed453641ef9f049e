import { describe, expect, it } from "vitest";
import { connect } from "../connect/index.ts";
import { McpError } from "../protocol/errors.ts";
import type { ServerEvent } from "../protocol/server-event.ts";
import { createServer, prompt, resource, tool } from "../server/index.ts";
import { createManualClock } from "../testing/clock.ts";
import type { ApprovalChange, GatewayApprovals } from "./approval.ts";
import { type Gateway, type GatewayOptions, openGateway } from "./open-gateway.ts";

const crm = createServer({
  name: "crm",
  version: "1",
  instructions: "The customers.",
  tools: {
    read: tool({ annotations: { readOnlyHint: true }, run: () => ({ name: "Ann", ssn: "123" }) }),
    write: tool({
      input: { type: "object", properties: { id: { type: "number" } } } as const,
      run: ({ id }) => `wrote ${id}`,
    }),
    confirm: tool({
      run: async (_, ctx) => {
        const answer = await ctx.ask("Sure?", { type: "object", properties: { ok: { type: "boolean" } } } as const);
        return `sure: ${answer.ok}`;
      },
    }),
  },
  prompts: { greet: prompt({ get: () => "Hello" }) },
  resources: [
    resource("db://customers", { read: () => "all" }),
    resource("db://{table}/{id}", { read: ({ table, id }) => `${table} ${id}` }),
  ],
});
const shop = createServer({ name: "shop", version: "1", tools: { buy: tool({ run: () => "bought" }) } });

const open = (options: GatewayOptions): Promise<Gateway> =>
  openGateway({ crm, shop }, { stateKeys: ["0123456789abcdef".repeat(4)], ...options });

const revisions = ["2025-11-25", "2026-07-28"] as const;
type Revision = (typeof revisions)[number];

const by = (gateway: Gateway, principal: string, revision: Revision = "2026-07-28", more: object = {}) =>
  connect(gateway, { revision, identity: { principal, claims: { groups: [`${principal}s`] } }, ...more });

const namesOf = (items: readonly { readonly name: string }[]) => items.map(({ name }) => name).sort();

/** The next change of a kind. */
async function next(changes: AsyncIterable<ApprovalChange>, kind: ApprovalChange["kind"]): Promise<ApprovalChange> {
  for await (const change of changes) if (change.kind === kind) return change;
  throw new Error("no more changes");
}

async function answerNext(approvals: GatewayApprovals, approved: boolean, reason?: string): Promise<ApprovalChange> {
  const change = await next(approvals.changes(), "waiting");
  await approvals.answer(change.approval.id, { approved, by: "boss", reason });
  return change;
}

describe.each(revisions)("a client of %s", (revision) => {
  it("sees what it may call, and gets the same error for what is hidden as for what is not there", async () => {
    await using gateway = await open({ rules: [{ action: "deny", users: "eve", tools: "crm:write" }] });
    await using ann = await by(gateway, "ann", revision);
    await using eve = await by(gateway, "eve", revision);
    expect(namesOf(await ann.listTools())).toEqual(["crm__confirm", "crm__read", "crm__write", "shop__buy"]);
    expect(namesOf(await eve.listTools())).toEqual(["crm__confirm", "crm__read", "shop__buy"]);
    expect(await ann.callTool("crm__write", { id: 1 })).toMatchObject({ content: [{ text: "wrote 1" }] });
    const errorOf = async (name: string) => {
      const error: unknown = await eve.callTool(name).catch((reason: unknown) => reason);
      return error instanceof McpError ? JSON.stringify([error.message, error.data]).replaceAll(name, "?") : "";
    };
    expect(await errorOf("crm__write")).toMatch(/unknown tool/);
    expect(await errorOf("crm:write")).toBe(await errorOf("crm:wrote"));
    expect(await errorOf("crm__write")).toBe(await errorOf("crm__wrote"));
  });

  it("sees and may do no more in a view", async () => {
    const views = { plain: { prefix: false }, crm: { servers: ["crm"] }, found: { search: true } };
    const rules = [
      { action: "deny", users: "eve", tools: "crm:write" },
      { action: "redact", redact: { patterns: "bou" } },
    ] as const;
    await using gateway = await open({ views, rules });
    const identity = { principal: "eve" };
    await using plain = await connect(gateway.views.get("plain"), { revision, identity });
    expect(namesOf(await plain.listTools())).toEqual(["buy", "confirm", "read"]);
    expect((await plain.callTool("buy")).content).toMatchObject([{ text: "[redacted]ght" }]);
    for (const name of ["write", "crm__write", "crm:write"])
      await expect(plain.callTool(name, { id: 1 })).rejects.toThrow(`unknown tool "${name}"`);
    await using crm = await connect(gateway.views.get("crm"), { revision, identity });
    expect(namesOf(await crm.listTools())).toEqual(["confirm", "read"]);
    await expect(crm.callTool("write", { id: 1 })).rejects.toThrow("unknown tool");
    await expect(crm.request("acme/anything")).rejects.toThrow("must not be called");
    await using found = await connect(gateway.views.get("found"), { revision, identity });
    expect(JSON.stringify(await found.callTool("search_tools", { query: "write" }))).not.toContain("crm__write");
    const call = found.callTool("call_tool", { name: "crm__write", arguments: { id: 1 } });
    expect(JSON.stringify(await call.catch((error: McpError) => error.message))).toContain("unknown tool");
  });

  it("sees nothing of a server that is denied to it, its instructions included", async () => {
    await using gateway = await open({ rules: [{ action: "deny", groups: "eves", servers: "crm" }] });
    await gateway.settled();
    await using eve = await by(gateway, "eve", revision);
    expect(eve.server.instructions ?? "").not.toContain("customers");
    expect(namesOf(await eve.listTools())).toEqual(["shop__buy"]);
    await expect(eve.callTool("nowhere:write")).rejects.toThrow("there are: shop");
    await expect(eve.callTool("crm:write")).rejects.toThrow('no server "crm"');
    expect(await eve.listPrompts()).toEqual([]);
    expect(await eve.listResources()).toEqual([]);
    expect(await eve.listResourceTemplates()).toEqual([]);
    await expect(eve.getPrompt("crm__greet")).rejects.toMatchObject({ code: "invalid-params" });
    await expect(eve.getPrompt("crm:greet")).rejects.toMatchObject({ code: "invalid-params" });
    for (const uri of ["db://customers", "plugbay-resource://crm/db%3A%2F%2Fcustomers", "db://nothing"]) {
      await expect(eve.readResource(uri)).rejects.toMatchObject({ code: "resource-not-found" });
    }
    const ref = { type: "ref/prompt", name: "crm__greet" } as const;
    await expect(eve.complete({ ref, argument: { name: "a", value: "" } })).rejects.toMatchObject({
      code: "invalid-params",
    });
  });

  it("is refused what its arguments make different, with the name of the rule", async () => {
    const rules: GatewayOptions["rules"] = [
      { action: "deny", name: "not the first", arguments: { id: { equals: 1 } } },
      { action: "deny", resources: "db://secret/*" },
    ];
    await using gateway = await open({ rules });
    await using ann = await by(gateway, "ann", revision);
    await expect(ann.callTool("crm__write", { id: 1 })).rejects.toThrow("denied by rule 1 (not the first)");
    expect(await ann.callTool("crm__write", { id: 2 })).toMatchObject({ content: [{ text: "wrote 2" }] });
    await expect(ann.readResource("db://secret/1")).rejects.toThrow("no server has the resource");
    expect(await ann.readResource("db://open/1")).toMatchObject({ contents: [{ text: "open 1" }] });
  });

  it("is denied what no rule allows, where that is said", async () => {
    await using gateway = await open({ denyByDefault: true, rules: [{ action: "allow", when: { readOnly: true } }] });
    await using ann = await by(gateway, "ann", revision);
    expect(namesOf(await ann.listTools())).toEqual(["crm__read"]);
    expect(await ann.listPrompts()).toEqual([]);
    await expect(ann.callTool("shop__buy")).rejects.toThrow("unknown tool");
  });

  it("waits for an approval, hears that it does, and an approval counts once", async () => {
    await using gateway = await open({ rules: [{ action: "approve", tools: "crm:write" }] });
    await using ann = await by(gateway, "ann", revision);
    const heard: unknown[] = [];
    const onProgress = ({ message }: { message?: string }) => void heard.push(message);
    const answered = answerNext(gateway.approvals, true);
    expect(await ann.callTool("crm__write", { id: 1 }, { onProgress })).toMatchObject({
      content: [{ text: "wrote 1" }],
    });
    expect(heard).toEqual(["write waits for approval"]);
    expect((await answered).approval).toMatchObject({ principal: "ann", server: "crm", arguments: { id: 1 } });
    expect(await gateway.approvals.list()).toEqual([]);
    const refused = answerNext(gateway.approvals, false, "not today");
    await expect(ann.callTool("crm__write", { id: 1 })).rejects.toThrow("was not approved: not today");
    const { approval } = await refused;
    await expect(gateway.approvals.answer(approval.id, { approved: true, by: "boss" })).rejects.toMatchObject({
      code: "invalid-params",
    });
  });

  it("approves itself where the rule says so, and is refused where its user says no", async () => {
    await using gateway = await open({ rules: [{ action: "approve", approve: "caller", tools: "crm:*" }] });
    const asked: string[] = [];
    let yes = true;
    const onElicit = ({ message }: { message: string }) => {
      asked.push(message);
      const content = message === "Sure?" ? { ok: true } : { approve: yes };
      return { action: "accept", content } as const;
    };
    await using ann = await by(gateway, "ann", revision, { onElicit });
    expect(await ann.callTool("crm__write", { id: 1 })).toMatchObject({ content: [{ text: "wrote 1" }] });
    expect(asked.splice(0)).toEqual(['Allow this call of write at crm?\n{\n  "id": 1\n}']);
    expect(await ann.callTool("crm__confirm")).toMatchObject({ content: [{ text: "sure: true" }] });
    expect(asked.splice(0)).toEqual(["Allow this call of confirm at crm?\n{}", "Sure?"]);
    yes = false;
    await expect(ann.callTool("crm__write", { id: 1 })).rejects.toThrow("not approved by its caller");
    await using mute = await by(gateway, "bob", revision);
    await expect(mute.callTool("crm__write", { id: 1 })).rejects.toMatchObject({ code: "missing-capability" });
  });

  it("is asked by the server of an approved call without another approval", async () => {
    await using gateway = await open({ rules: [{ action: "approve", tools: "crm:*" }] });
    await using ann = await by(gateway, "ann", revision, {
      onElicit: () => ({ action: "accept", content: { ok: true } }) as const,
    });
    const answered = answerNext(gateway.approvals, true);
    expect(await ann.callTool("crm__confirm")).toMatchObject({ content: [{ text: "sure: true" }] });
    await answered;
    expect(await gateway.approvals.list()).toEqual([]);
  });

  it("takes its question back when it cancels", async () => {
    await using gateway = await open({ rules: [{ action: "approve" }] });
    await using ann = await by(gateway, "ann", revision);
    const changes = gateway.approvals.changes();
    const abort = new AbortController();
    const call = ann.callTool("shop__buy", {}, { signal: abort.signal });
    await next(changes, "waiting");
    const cancelled = next(gateway.approvals.changes(), "cancelled");
    abort.abort();
    await expect(call).rejects.toMatchObject({ code: "cancelled" });
    await cancelled;
    expect(await gateway.approvals.list()).toEqual([]);
  });

  it("gets results without what rules hide", async () => {
    await using gateway = await open({ rules: [{ action: "redact", tools: "crm:*", redact: { members: "ssn" } }] });
    await using ann = await by(gateway, "ann", revision);
    const result = await ann.callTool("crm__read");
    expect(JSON.stringify(result)).toContain("[redacted]");
    expect(JSON.stringify(result)).not.toContain("123");
  });

  it("is limited by rules that count its calls, and not those of others", async () => {
    const rules: GatewayOptions["rules"] = [
      { action: "rate", name: "few", tools: "shop:*", rate: { limit: 1, windowMs: 60_000 } },
    ];
    await using gateway = await open({ rules, clock: createManualClock(600_000) });
    await using ann = await by(gateway, "ann", revision);
    await using bob = await by(gateway, "bob", revision);
    await ann.callTool("shop__buy");
    await expect(ann.callTool("shop__buy")).rejects.toMatchObject({ code: "limit-reached", data: { limit: "few" } });
    await bob.callTool("shop__buy");
    await ann.callTool("crm__read");
  });
});

describe("approvals", () => {
  it("are found again by who comes back, and only for the same call of the same caller", async () => {
    const clock = createManualClock(1_000_000);
    await using gateway = await open({ rules: [{ action: "approve" }], clock });
    await using ann = await by(gateway, "ann");
    const waiting = next(gateway.approvals.changes(), "waiting");
    const late = ann.callTool("crm__write", { id: 1 }).catch((error: unknown) => error);
    const { approval } = await waiting;
    await clock.advanceAsync(45_000);
    expect(await late).toMatchObject({ code: "denied", data: { reason: "approval-pending", id: approval.id } });
    await gateway.approvals.answer(approval.id, { approved: true, by: "boss" });

    await using bob = await by(gateway, "bob");
    const others = [bob.callTool("crm__write", { id: 1 }), ann.callTool("crm__write", { id: 2 })];
    for (const other of others) other.catch(() => {});
    const changes = gateway.approvals.changes()[Symbol.asyncIterator]();
    while ((await gateway.approvals.list()).length < 2) await changes.next();
    expect(await ann.callTool("crm__write", { id: 1 })).toMatchObject({ content: [{ text: "wrote 1" }] });
    const again = ann.callTool("crm__write", { id: 1 });
    again.catch(() => {});
    while ((await gateway.approvals.list()).length < 3) await changes.next();
  });

  it("are given up when nobody has answered for long", async () => {
    const clock = createManualClock(1_000_000);
    await using gateway = await open({ rules: [{ action: "approve" }], clock, approvalTtlMs: 60_000 });
    await using ann = await by(gateway, "ann");
    const waiting = next(gateway.approvals.changes(), "waiting");
    const late = ann.callTool("shop__buy").catch(() => {});
    const { approval } = await waiting;
    await clock.advanceAsync(60_000);
    await late;
    expect(await gateway.approvals.list()).toEqual([]);
    await expect(gateway.approvals.answer(approval.id, { approved: true, by: "boss" })).rejects.toThrow("has expired");
  });

  it("are bounded for one caller", async () => {
    await using gateway = await open({ rules: [{ action: "approve" }], maxApprovalsPerCaller: 1 });
    await using ann = await by(gateway, "ann");
    const waiting = next(gateway.approvals.changes(), "waiting");
    ann.callTool("shop__buy").catch(() => {});
    await waiting;
    await expect(ann.callTool("crm__read")).rejects.toMatchObject({ code: "limit-reached" });
    await using bob = await by(gateway, "bob");
    const other = next(gateway.approvals.changes(), "waiting");
    bob.callTool("shop__buy").catch(() => {});
    expect((await other).approval.principal).toBe("bob");
  });

  it("must say who answers, and what", async () => {
    await using gateway = await open({});
    const answer = (given: object) => gateway.approvals.answer("x", given as never);
    await expect(answer({ by: "boss" })).rejects.toThrow("approved must be true or false");
    await expect(answer({ approved: true })).rejects.toThrow("by must say who answers");
    await expect(answer({ approved: true, by: "boss" })).rejects.toThrow("no call waits for the approval");
  });
});

describe("events", () => {
  it("tell who called what at which server, what was decided and by which rule, and no arguments", async () => {
    const events: ServerEvent[] = [];
    const rules: GatewayOptions["rules"] = [
      { action: "deny", name: "no secrets", tools: "crm:write", arguments: { id: { equals: 42_424_242 } } },
      { action: "approve", tools: "shop:buy" },
      { action: "redact", name: "hide", tools: "crm:read", redact: { members: "ssn" } },
    ];
    await using gateway = await open({ rules, onEvent: (event) => events.push(event) });
    await using ann = await by(gateway, "ann");
    await ann.callTool("crm__write", { id: 1 });
    await ann.callTool("crm__write", { id: 42_424_242 }).catch(() => {});
    const answered = answerNext(gateway.approvals, true);
    await ann.callTool("shop__buy");
    await answered;
    await ann.callTool("crm__read");
    const calls = events.filter(({ method }) => method === "tools/call");
    expect(calls).toMatchObject([
      { kind: "call", principal: "ann", server: "crm", name: "crm__write", decision: "allow", outcome: "complete" },
      { kind: "refused", code: "denied", server: "crm", decision: "deny", rule: "no secrets" },
      { kind: "call", server: "shop", decision: "approve", rule: "rule 2", approvedBy: "boss" },
      { kind: "call", server: "crm", decision: "redact", rule: "hide", resultChars: expect.any(Number) },
    ]);
    expect(JSON.stringify(events)).not.toContain("42424242");
  });

  it("tell what would have been, where rules are tried out", async () => {
    const events: ServerEvent[] = [];
    const rules: GatewayOptions["rules"] = [
      { action: "deny", name: "no writing", tools: "crm:write" },
      { action: "redact", redact: { members: "ssn" } },
      { action: "rate", name: "few", tools: "shop:*", rate: { limit: 1, windowMs: 60_000 } },
    ];
    await using gateway = await open({ rules, dryRun: true, onEvent: (event) => events.push(event) });
    await using ann = await by(gateway, "ann");
    expect((await ann.listTools()).length).toBe(4);
    await ann.callTool("crm__write", { id: 1 });
    expect(JSON.stringify(await ann.callTool("crm__read"))).toContain("123");
    await ann.callTool("shop__buy");
    await ann.callTool("shop__buy");
    expect(events.filter(({ method }) => method === "tools/call")).toMatchObject([
      { kind: "call", decision: "deny", rule: "no writing", isDryRun: true, outcome: "complete" },
      { kind: "call", decision: "redact", isDryRun: true },
      { kind: "call", decision: "redact", isDryRun: true },
      { kind: "call", decision: "rate", rule: "few", isDryRun: true, outcome: "complete" },
    ]);
  });

  it("name the server of a call also where there are no rules", async () => {
    const events: ServerEvent[] = [];
    await using gateway = await open({ onEvent: (event) => events.push(event) });
    await using ann = await by(gateway, "ann");
    await ann.callTool("shop__buy");
    expect(events.at(-1)).toMatchObject({ server: "shop", decision: "allow", name: "shop__buy" });
  });
});

describe("explain", () => {
  it("says what is decided, by which rule, and why others do not match", async () => {
    const rules: GatewayOptions["rules"] = [
      { action: "deny", name: "eve", users: "eve" },
      { action: "allow", name: "readers", groups: "readers", tools: "crm:read" },
      { action: "approve", name: "writers", tools: "crm:write", when: { readOnly: false } },
    ];
    await using gateway = await open({ rules, denyByDefault: true });
    const request = { principal: "ann", groups: ["readers"], server: "crm", name: "write", arguments: { id: 1 } };
    expect(await gateway.explain(request)).toEqual({
      action: "approve",
      rule: { index: 2, name: "writers" },
      also: [],
      isListed: true,
      isKnown: true,
      rules: [
        { index: 0, name: "eve", action: "deny", matches: false, because: "users: none fits ann" },
        { index: 1, name: "readers", action: "allow", matches: false, because: "tools: none fits write" },
        { index: 2, name: "writers", action: "approve", matches: true },
      ],
    });
    expect(await gateway.explain({ server: "crm", name: "read" })).toMatchObject({ action: "deny", isListed: false });
    expect(await gateway.explain({ server: "crm", name: "rad" })).toMatchObject({ isKnown: false, isListed: false });
    const uri = { principal: "ann", method: "resources/read", server: "crm", name: "db://customers" } as const;
    expect(await gateway.explain(uri)).toMatchObject({ action: "deny", isListed: false });
    await expect(gateway.explain({ ...request, method: "tools/list" as never })).rejects.toThrow(
      "explain takes a method",
    );
  });
});

describe("openGateway", () => {
  it("refuses rules that it does not understand, and options that it does not have", async () => {
    await expect(open({ rules: [{ action: "deny", tool: "x" } as never] })).rejects.toMatchObject({
      code: "invalid-definition",
    });
    await expect(open({ rules: {} as never })).rejects.toThrow("rules must be a list");
    await expect(open({ rule: [] } as never)).rejects.toThrow('did you mean "rules"');
    await expect(open({ rules: [{ action: "redact", redact: { patterns: "(a+)+$" } }] })).rejects.toThrow("(a+)+$");
  });
});
