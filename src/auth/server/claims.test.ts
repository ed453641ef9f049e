import { type } from "arktype";
import * as v from "valibot";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  audience,
  createFakeFetch,
  createFakeIssuer,
  httpWith,
  noon,
  withToken,
} from "../../../test/support/tokens.ts";
import type { JsonObject } from "../../json/json.ts";
import type { AnySchema } from "../../schema/infer.ts";
import type { StandardSchema } from "../../schema/standard-schema.ts";
import { anyOf } from "./any-of.ts";
import { apiKey, hashApiKey } from "./api-key.ts";
import { basic } from "./basic.ts";
import { createIntrospection } from "./introspection.ts";
import { createJwt } from "./jwt.ts";
import { bearer } from "./tokens.ts";

const nothing = createFakeFetch({}).fetch;

/** A server that takes tokens with claims of this kind. */
async function protect<const S extends AnySchema>(claims: S, options: { readonly requiredScopes?: string[] } = {}) {
  const issuer = await createFakeIssuer();
  const base = { issuer: issuer.issuer, audience, jwks: issuer.jwks };
  const auth = createJwt({ ...base, ...options, claims }, { fetch: nothing, now: () => noon });
  return async (more: Readonly<Record<string, unknown>>) => auth(withToken(await issuer.token(more)));
}

/** Takes whatever is said for claims. */
const saying = <const S extends AnySchema>(claims: JsonObject | undefined, schema: S) =>
  bearer(() => ({ principal: "ann", ...(claims !== undefined && { claims }) }), { claims: schema })(withToken("t"));

const plain = { type: "object", properties: { tenant: { type: "string" } }, required: ["tenant"] } as const;

const schemas: Readonly<Record<string, AnySchema>> = {
  zod: z.looseObject({ tenant: z.string() }),
  // As it is, without a converter to JSON Schema.
  valibot: v.looseObject({ tenant: v.string() }),
  arktype: type({ tenant: "string" }),
  "JSON Schema": plain,
};

describe.each(Object.entries(schemas))("claims that %s describes", (_, schema) => {
  it("are taken, with who it is and its scopes", async () => {
    const ask = await protect(schema);
    expect(await ask({ tenant: "acme", scope: "read write" })).toMatchObject({
      ok: true,
      auth: { principal: "https://login.example#ann", scopes: ["read", "write"], claims: { tenant: "acme" } },
    });
  });

  it.each([{ tenant: 4_711 }, { tenant: null }, {}])("are refused when they are %j", async (claims) => {
    const answer = await (await protect(schema))(claims);
    expect(answer).toEqual({
      ok: false,
      status: 401,
      error: "invalid_token",
      description: "the claims are not those that this server needs",
      scheme: "bearer",
      warning: expect.stringMatching(/^jwt: claims do not fit: .*tenant/),
    });
    expect(JSON.stringify(answer)).not.toContain("4711");
  });
});

describe("what handlers see", () => {
  it("is what the schema returned, and nothing else", async () => {
    const claims = z.object({
      tenant: z.string().transform((name) => name.toUpperCase()),
      plan: z.string().default("free"),
    });
    expect(await (await protect(claims))({ tenant: "acme", email: "ann@example.com" })).toMatchObject({
      auth: { claims: { tenant: "ACME", plan: "free" } },
    });
    expect(await saying({ tenant: "acme", email: "ann@example.com" }, claims)).toEqual({
      ok: true,
      auth: { principal: "ann", scopes: [], claims: { tenant: "ACME", plan: "free" } },
    });
  });

  it("may be found out by waiting", async () => {
    const known = z.string().refine(async (tenant) => tenant === "acme");
    const claims = z.object({ tenant: known });
    expect(await saying({ tenant: "acme" }, claims)).toMatchObject({ ok: true });
    expect(await saying({ tenant: "evil" }, claims)).toMatchObject({ ok: false, status: 401 });
  });

  it("is asked for where nobody has said anything", async () => {
    expect(await saying(undefined, z.object({ plan: z.string().default("free") }))).toMatchObject({
      auth: { claims: { plan: "free" } },
    });
    expect(await saying(undefined, plain)).toMatchObject({ ok: false, status: 401 });
  });

  it("has no members that come from nowhere", async () => {
    const claims = JSON.parse('{"__proto__": {"tenant": "evil"}}') as JsonObject;
    expect(await saying(claims, plain)).toMatchObject({ ok: false, status: 401 });
    expect(await saying(claims, z.object({ tenant: z.string() }))).toMatchObject({ ok: false, status: 401 });
  });
});

describe("a check of claims", () => {
  it("comes before scopes, and takes nothing from them", async () => {
    const ask = await protect(z.object({ tenant: z.string() }), { requiredScopes: ["write"] });
    expect(await ask({ scope: "write" })).toMatchObject({ status: 401 });
    expect(await ask({ tenant: "acme" })).toMatchObject({ status: 403, scopes: ["write"] });
    expect(await ask({ tenant: "acme", scope: "write" })).toMatchObject({ ok: true, auth: { scopes: ["write"] } });
  });

  it("does not do away with the key that a token is bound to", async () => {
    const bound = { tenant: "acme", cnf: { jkt: "abc" } };
    expect(await saying(bound, z.object({ tenant: z.string() }))).toMatchObject({ ok: false, scheme: "DPoP" });
  });

  it("tells whoever runs the server where it went wrong, in one line and without values", async () => {
    const odd = { "a\nplugbay: all is well": 4_711, tenant: "secret-1" };
    const answers = [
      await saying(odd, z.record(z.string().regex(/^[a-z]+$/), z.string())),
      await saying(odd, { type: "object", additionalProperties: { type: "boolean" } }),
      await saying(odd, v.record(v.string(), v.boolean())),
    ];
    for (const answer of answers) {
      const { warning = "", description } = answer.ok ? {} : answer;
      expect(warning).toMatch(/^bearer: claims do not fit: /);
      expect(`${warning}${description}`).not.toMatch(/\n|4711|secret-1/);
    }
  });

  it("says no more than fits on a few lines", async () => {
    const claims = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`${n}`.repeat(100), n]));
    const answer = await saying(claims, { type: "object", additionalProperties: { type: "string" } });
    expect(answer.ok ? "" : answer.warning?.length).toBeLessThan(600);
  });

  it.each<[string, unknown]>([
    ["a date", { since: new Date(0) }],
    ["a map", { roles: new Map() }],
    ["a big number", { balance: 1n }],
    ["no number", { balance: Number.NaN }],
    ["a function", { can: () => true }],
    ["a list", ["acme"]],
    ["a text", "acme"],
    ["nothing", null],
  ])("rejects when the schema makes %s of them, which could not be kept", async (_, made) => {
    await expect(saying({}, returning(made))).rejects.toMatchObject({
      code: "invalid-definition",
      message: expect.stringMatching(/^bearer: claims must make a JSON object/),
    });
  });

  it("takes claims of any shape that can be kept", async () => {
    const deep = {
      list: [1, null, { ok: true }],
      none: undefined,
      bare: Object.assign(Object.create(null), { a: "b" }),
    };
    expect(await saying({}, returning(deep))).toMatchObject({ ok: true, auth: { claims: deep } });
    const cyclic: Record<string, unknown> = {};
    cyclic.self = cyclic;
    await expect(saying({}, returning(cyclic))).rejects.toMatchObject({ code: "invalid-definition" });
  });

  it("refuses by a schema that throws, and does not repeat what it said", async () => {
    const throwing: StandardSchema = {
      "~standard": {
        version: 1,
        vendor: "test",
        validate() {
          throw new Error("secret-2");
        },
      },
    };
    const answer = await saying({}, throwing);
    expect(answer).toMatchObject({ ok: false, status: 401 });
    expect(JSON.stringify(answer)).not.toContain("secret-2");
  });

  it("is not made with what is no schema", () => {
    expect(() => bearer(() => undefined, { claims: { type: "objekt" } })).toThrow(
      /^bearer: claims is not a usable schema/,
    );
    expect(() => apiKey({ verify: () => undefined, claims: { type: 1 } })).toThrow(
      /^apiKey: claims is not a usable schema/,
    );
    expect(() => basic({ verify: () => undefined, claims: { $ref: 7 } })).toThrow(/^basic: claims is no/);
  });

  it("blames nobody for a pattern that is not safe to match", async () => {
    const slow = { type: "object", properties: { tenant: { type: "string", pattern: "^(a+)+$" } } } as const;
    const ask = await protect(slow);
    for (const tenant of ["a", "b"]) {
      await expect(ask({ tenant })).rejects.toMatchObject({
        code: "invalid-definition",
        message: expect.stringMatching(/^jwt: claims is not a usable schema: .*pattern/),
      });
    }
  });
});

describe("other ways to know somebody", () => {
  const claims = z.object({ tenant: z.string() });

  it("check claims of keys and users, listed or not", async () => {
    const pepper = "kept apart from the hashes";
    const hash = await hashApiKey("key", pepper);
    const good = { hash, claims: { tenant: "acme", more: 1 } };
    const asked = httpWith({ "x-api-key": "key" });
    expect(await apiKey({ keys: { ann: good }, pepper, claims })(asked)).toEqual({
      ok: true,
      auth: { principal: "ann", scopes: [], claims: { tenant: "acme" } },
    });
    expect(await apiKey({ keys: { ann: hash }, pepper, claims })(asked)).toMatchObject({
      status: 401,
      scheme: "ApiKey",
      warning: expect.stringMatching(/^apiKey: claims do not fit: \/tenant /),
    });
    const login = httpWith({ authorization: `Basic ${btoa("ann:secret")}` });
    const user = (tenant: unknown) =>
      basic({ verify: () => ({ principal: "ann", claims: { tenant } as JsonObject }), claims });
    expect(await user("acme")(login)).toEqual({ ok: true, auth: { principal: "ann", claims: { tenant: "acme" } } });
    expect(await user(1)(login)).toMatchObject({
      status: 401,
      scheme: "Basic",
      warning: expect.stringContaining("basic: "),
    });
  });

  it("check claims that an issuer tells", async () => {
    const endpoint = "https://login.example/introspect";
    let tenant: unknown = "acme";
    const { fetch } = createFakeFetch({ [endpoint]: () => ({ active: true, sub: "ann", tenant, more: 1 }) });
    const options = { endpoint, clientId: "shop", clientSecret: "x", audience: "any", cacheTtlMs: 0, claims };
    const ask = createIntrospection(options, { fetch, now: () => noon });
    expect(await ask(withToken("t"))).toMatchObject({ ok: true, auth: { claims: { tenant: "acme" } } });
    tenant = ["acme"];
    expect(await ask(withToken("t"))).toMatchObject({
      status: 401,
      warning: expect.stringContaining("introspection: "),
    });
  });

  it("are asked in turn, and what they say against somebody is passed on", async () => {
    const first = bearer(() => ({ principal: "ann", claims: {} }), { claims });
    const second = apiKey({ verify: () => ({ principal: "robot" }) });
    const both = anyOf(first, second);
    expect(await both(withToken("t"))).toMatchObject({ status: 401, warning: expect.stringContaining("/tenant") });
    expect(await both(withToken("t", { "x-api-key": "k" }))).toMatchObject({ ok: true, auth: { principal: "robot" } });
  });
});

/** A schema that makes this of everything. */
function returning(value: unknown): StandardSchema {
  return { "~standard": { version: 1, vendor: "test", validate: () => ({ value }) } };
}
