import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { GuardSubject } from "../host/call-guard.ts";
import type { HostTool } from "../host/host-tool.ts";
import type { JsonObject } from "../json/json.ts";
import type { GatewayCaller } from "./caller.ts";
import { explain } from "./explain.ts";
import type { GatewayRule } from "./rule.ts";
import { createRulebook } from "./rulebook.ts";

const caller = (principal?: string, groups: readonly string[] = []): GatewayCaller => ({
  principal,
  groups,
  scopes: [],
  claims: {},
});

function tool(name: string, annotations: HostTool["annotations"] = {}): GuardSubject & { readonly kind: "tool" } {
  const [server = "", localName = ""] = name.split(":");
  const listed: HostTool = { name, server, localName, alias: name, inputSchema: { type: "object" }, annotations };
  return { kind: "tool", server, name: localName, tool: listed };
}

const decide = (
  rules: readonly GatewayRule[],
  subject: GuardSubject,
  { by = caller("ann"), args, rest = false }: { by?: GatewayCaller; args?: JsonObject; rest?: boolean } = {},
) => {
  const found = createRulebook(rules, rest).rulesFor(by).on(subject);
  return { isListed: found.isListed, action: found.decide(args).action, by: found.decide(args).by?.index };
};

describe("rules", () => {
  it("allow everything where there are none, and nothing where that is said", () => {
    expect(decide([], tool("a:b"))).toEqual({ isListed: true, action: "allow" });
    expect(decide([], tool("a:b"), { rest: true })).toEqual({ isListed: false, action: "deny" });
  });

  it("that deny win, wherever they stand; then the first that fits decides", () => {
    const rules: GatewayRule[] = [
      { action: "allow", tools: "a:*" },
      { action: "approve", tools: "a:b" },
      { action: "deny", tools: "a:x" },
    ];
    expect(decide(rules, tool("a:b"))).toMatchObject({ action: "allow", by: 0 });
    expect(decide(rules, tool("a:x"))).toMatchObject({ action: "deny", by: 2, isListed: false });
    expect(decide(rules.slice(1), tool("a:b"))).toMatchObject({ action: "approve", by: 0 });
  });

  it("tell callers apart by users and groups, and take nobody for somebody", () => {
    const rules: GatewayRule[] = [
      { action: "allow", users: "ann" },
      { action: "allow", groups: ["ops-*"] },
    ];
    const action = (by: GatewayCaller) => decide(rules, tool("a:b"), { by, rest: true }).action;
    expect(action(caller("ann"))).toBe("allow");
    expect(action(caller("bob"))).toBe("deny");
    expect(action(caller("bob", ["sales", "ops-eu"]))).toBe("allow");
    expect(action(caller(undefined, []))).toBe("deny");
    expect(decide([{ action: "allow", users: "*" }], tool("a:b"), { by: caller(), rest: true }).action).toBe("deny");
  });

  it("about arguments list a tool and refuse some of its calls", () => {
    const rules: GatewayRule[] = [{ action: "deny", tools: "fs:read", arguments: { "file.path": { glob: "/etc/*" } } }];
    expect(decide(rules, tool("fs:read"), { args: { file: { path: "/etc/passwd" } } })).toEqual({
      isListed: true,
      action: "deny",
      by: 0,
    });
    expect(decide(rules, tool("fs:read"), { args: { file: { path: "/home" } } }).action).toBe("allow");
    expect(decide(rules, tool("fs:read")).action).toBe("allow");
  });

  it.each([
    [{ a: { equals: { b: [1] } } }, { a: { b: [1] } }, true],
    [{ a: { equals: { b: [1] } } }, { a: { b: [1, 2] } }, false],
    [{ a: { oneOf: [1, "x"] } }, { a: "x" }, true],
    [{ a: { oneOf: [1, "x"] } }, { a: "1" }, false],
    [{ a: { glob: "4*" } }, { a: 42 }, true],
    [{ a: { glob: "*" } }, { a: {} }, false],
    [{ a: { absent: true } }, {}, true],
    [{ a: { absent: true } }, { a: null }, false],
    [{ a: { absent: false } }, { a: 1 }, true],
    [{ "/a~1b/0": { equals: 1 } }, { "a/b": [1] }, true],
    [{ constructor: { absent: true } }, {}, true],
    [{ "__proto__.x": { absent: true } }, {}, true],
    [{ "paths.*": { glob: "/tmp/*" } }, { paths: ["/tmp/a", "/tmp/b"] }, true],
    [{ "paths.*": { glob: "/tmp/*" } }, { paths: ["/tmp/a", "/etc"] }, false],
    [{ "paths.*": { glob: "/tmp/*" } }, { paths: [] }, false],
  ])("allow by %j the arguments %j: %s", (conditions, args, isAllowed) => {
    const rules: GatewayRule[] = [{ action: "allow", arguments: conditions as GatewayRule["arguments"] }];
    const { action, isListed } = decide(rules, tool("a:b"), { args: args as JsonObject, rest: true });
    expect([action, isListed]).toEqual([isAllowed ? "allow" : "deny", true]);
  });

  it("that deny by one of several items deny when one of them fits", () => {
    const rules: GatewayRule[] = [{ action: "deny", arguments: { "paths.*": { glob: "/etc/*" } } }];
    expect(decide(rules, tool("a:b"), { args: { paths: ["/tmp/a", "/etc/b"] } }).action).toBe("deny");
  });

  it("about hints take what a server does not say for the worst, and are about tools alone", () => {
    const rules: GatewayRule[] = [{ action: "deny", when: { readOnly: false } }];
    expect(decide(rules, tool("a:b", { readOnlyHint: true })).action).toBe("allow");
    expect(decide(rules, tool("a:b")).action).toBe("deny");
    expect(decide(rules, { kind: "prompt", server: "a", name: "b" }).action).toBe("allow");
    const allowing: GatewayRule[] = [{ action: "allow", when: { readOnly: true } }];
    expect(decide(allowing, { kind: "tool", server: "a", name: "b" }, { rest: true })).toMatchObject({
      action: "deny",
    });
  });

  it("about tools are not about prompts and resources, and those without a kind are about all", () => {
    const resource: GuardSubject = { kind: "resource", server: "a", name: "db://b" };
    expect(decide([{ action: "deny", tools: "*" }], resource).action).toBe("allow");
    expect(decide([{ action: "deny", resources: "db://*" }], resource).action).toBe("deny");
    expect(decide([{ action: "deny", servers: "a" }], resource).action).toBe("deny");
    expect(decide([{ action: "deny", prompts: "a:*" }], { kind: "prompt", server: "a", name: "b" }).action).toBe(
      "deny",
    );
  });

  it("hide a template only where no URI of it may be read", () => {
    const template: GuardSubject = { kind: "template", server: "a", name: "db://{table}/{id}" };
    expect(decide([{ action: "deny", resources: "db://users/*" }], template).isListed).toBe(true);
    expect(decide([{ action: "deny", resources: "db://*" }], template).isListed).toBe(false);
    expect(decide([{ action: "allow", resources: "db://users/*" }], template, { rest: true }).isListed).toBe(true);
    expect(decide([{ action: "allow", resources: "x://*" }], template, { rest: true }).isListed).toBe(false);
  });

  it.each(["db://x/users/1", "db://x/%75sers/1", "db://x/open/../users/1", "db://x/open/%2e%2e/users/1"])(
    "see through the spelling of %s",
    (name) => {
      const uri: GuardSubject = { kind: "resource", server: "a", name };
      expect(decide([{ action: "deny", resources: "db://x/users/*" }], uri).action).toBe("deny");
      expect(decide([{ action: "allow", resources: "db://x/open/*" }], uri, { rest: true }).action).toBe("deny");
    },
  );

  it("hide a server of which nothing may be called", () => {
    const sees = (rules: GatewayRule[], rest: boolean) =>
      createRulebook(rules, rest).rulesFor(caller("ann")).seesServer("crm");
    expect(sees([{ action: "deny", servers: "crm" }], false)).toBe(false);
    expect(sees([{ action: "deny", servers: "crm", tools: "crm:x" }], false)).toBe(true);
    expect(sees([{ action: "allow", tools: "shop:*" }], true)).toBe(false);
    expect(sees([{ action: "allow", tools: "*:read" }], true)).toBe(true);
  });

  it("that redact or limit are added, and allow nothing", () => {
    const rules: GatewayRule[] = [
      { action: "redact", redact: { members: "ssn" } },
      { action: "rate", rate: { limit: 1, windowMs: 1_000 } },
    ];
    const found = createRulebook(rules, true).rulesFor(caller("ann")).on(tool("a:b")).decide(undefined);
    expect([found.action, found.also.map(({ index }) => index)]).toEqual(["deny", [0, 1]]);
  });

  it("give the same decision for callers of one class, made once for a tool", () => {
    const book = createRulebook([{ action: "deny", users: "eve" }], false);
    const subject = tool("a:b");
    expect(book.rulesFor(caller("ann")).on(subject)).toBe(book.rulesFor(caller("bob")).on(subject));
    expect(book.rulesFor(caller("eve"))).not.toBe(book.rulesFor(caller("bob")));
  });
});

describe("any rules", () => {
  const glob = fc.constantFrom("*", "a*", "ann", "b?b", "x");
  const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
  const rule: fc.Arbitrary<GatewayRule> = fc.record({
    action: fc.constantFrom("allow" as const, "deny" as const, "approve" as const),
    users: maybe(glob),
    groups: maybe(glob),
    servers: maybe(fc.constantFrom("a", "b", "*")),
    tools: maybe(fc.constantFrom("a:*", "*:read", "b:write", "*")),
    prompts: maybe(fc.constantFrom("a:*", "*")),
    arguments: maybe(fc.record({ n: fc.record({ equals: fc.integer({ min: 0, max: 2 }) }) })),
    when: maybe(fc.record({ readOnly: fc.boolean() })),
  });
  const calls = fc.record({
    principal: maybe(fc.constantFrom("ann", "bob")),
    groups: fc.subarray(["a1", "x", "q"]),
    server: fc.constantFrom("a", "b"),
    name: fc.constantFrom("read", "write"),
    args: maybe(fc.record({ n: fc.integer({ min: 0, max: 2 }) })),
    readOnlyHint: fc.boolean(),
  });

  it("deny where one that denies matches, decide by the first that matches else, and are explained as they decide", () => {
    fc.assert(
      fc.property(fc.array(rule, { maxLength: 5 }), fc.boolean(), calls, (rules, rest, call) => {
        const { principal, groups, server, name, args, readOnlyHint } = call;
        const subject = tool(`${server}:${name}`, { readOnlyHint });
        const book = createRulebook(rules, rest);
        const found = book.rulesFor(caller(principal, groups)).on(subject);
        const decided = found.decide(args);
        const explained = explain(book, { principal, groups, server, name, arguments: args }, subject.tool);
        const matching = explained.rules.filter(({ matches }) => matches);
        const by = matching.find(({ action }) => action === "deny") ?? matching[0];
        expect(explained.rule?.index).toBe(by?.index);
        expect(explained.action).toBe(by?.action ?? (rest ? "deny" : "allow"));
        expect([decided.action, decided.by?.index, found.isListed]).toEqual([
          explained.action,
          explained.rule?.index,
          explained.isListed,
        ]);
        for (const { matches, because } of explained.rules) expect(because === undefined).toBe(matches);
        // What is not listed can be called with no arguments at all.
        if (!found.isListed) for (const n of [0, 1, 2]) expect(found.decide({ n }).action).toBe("deny");
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("a rule that is not understood", () => {
  it.each([
    [{ action: "block" }, "rule 1 of the gateway: action must be one of allow, deny"],
    [{ action: "deny", tool: "x" }, 'rule 1 of the gateway has an unknown option "tool"; did you mean "tools"?'],
    [{ action: "deny", name: "no eve", users: [] }, "rule 1 (no eve) of the gateway: users must not be an empty list"],
    [{ action: "deny", tools: [3] }, "tools must be a glob"],
    [{ action: "deny", arguments: {} }, "arguments must name one argument or more"],
    [{ action: "deny", arguments: { a: { equal: 1 } } }, 'arguments["a"] has an unknown option "equal"'],
    [{ action: "deny", arguments: { a: { equals: 1, glob: "x" } } }, "exactly one of equals, glob, oneOf, absent"],
    [{ action: "deny", arguments: { a: { oneOf: [] } } }, "needs a list in oneOf"],
    [{ action: "deny", when: { readonly: true } }, 'unknown option "readonly"'],
    [{ action: "deny", when: {} }, "when must say true or false of one hint or more"],
    [{ action: "redact" }, "redact must say what to replace"],
    [{ action: "redact", redact: {} }, "redact must have members or patterns"],
    [{ action: "redact", redact: { members: "a..b" } }, 'redact.members has "a..b", which names no member'],
    [{ action: "rate" }, "rate must be given"],
    [{ action: "rate", rate: { limit: 0, windowMs: 1 } }, "rate.limit must be a whole number of at least 1"],
    [{ action: "allow", rate: { limit: 1, windowMs: 1 } }, 'rate belongs to the action "rate" only'],
    [{ action: "approve", approve: "boss" }, 'approve must be "queue" or "caller"'],
    [undefined, "the rule must be an object"],
  ])("%j is refused, and the rule and the member are named", (rule, problem) => {
    expect(() => createRulebook([rule as GatewayRule], false)).toThrow(problem);
    try {
      createRulebook([rule as GatewayRule], false);
    } catch (error) {
      expect(error).toMatchObject({ code: "invalid-definition", data: { member: expect.any(String) } });
    }
  });

  it("is one of two with the same name", () => {
    const rules: GatewayRule[] = [
      { action: "deny", name: "x", users: "a" },
      { action: "deny", name: "x", users: "b" },
    ];
    expect(() => createRulebook(rules, false)).toThrow(
      'rule 2 (x) of the gateway: name "x" is that of an earlier rule',
    );
  });
});
