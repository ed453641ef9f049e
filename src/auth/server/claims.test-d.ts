import { type } from "arktype";
import * as v from "valibot";
import { expectTypeOf } from "vitest";
import { z } from "zod";
import type { JsonObject } from "../../json/json.ts";
import type { Authenticator } from "../../protocol/authenticator.ts";
import type { Auth } from "../../protocol/peer.ts";
import type { Context } from "../../server/context.ts";
import { createServer } from "../../server/server.ts";
import { serveHttp } from "../../transport/node/serve-http.ts";
import { introspection, jwt } from "../node/server.ts";
import { anonymous, anyOf } from "./any-of.ts";
import { apiKey } from "./api-key.ts";
import { basic } from "./basic.ts";
import { bearer } from "./tokens.ts";

// A program that has not extended AuthClaims. One that has is in test/package/auth-claims.test.ts.

const base = { issuer: "https://login.example", audience: "https://shop.example/mcp" };

interface Tenant {
  tenant: string;
}

declare const ctx: Context;
expectTypeOf(ctx.auth).toExtend<Auth | undefined>();
expectTypeOf<Auth["claims"]>().toEqualTypeOf<JsonObject | undefined>();

// What an authenticator finds out is what its schema returns.
expectTypeOf(jwt(base)).toEqualTypeOf<Authenticator<Auth<JsonObject>>>();
expectTypeOf(jwt({ ...base, claims: z.object({ tenant: z.string() }) })).toExtend<Authenticator<Auth<Tenant>>>();
expectTypeOf(jwt({ ...base, claims: v.object({ tenant: v.string() }) })).toExtend<Authenticator<Auth<Tenant>>>();
expectTypeOf(jwt({ ...base, claims: type({ tenant: "string" }) })).toExtend<Authenticator<Auth<Tenant>>>();
const plain = { type: "object", properties: { tenant: { type: "string" } }, required: ["tenant"] } as const;
expectTypeOf(jwt({ ...base, claims: plain })).toExtend<Authenticator<Auth<Tenant>>>();
const client = { ...base, clientId: "shop", clientSecret: "secret" };
expectTypeOf(introspection({ ...client, claims: plain })).toExtend<Authenticator<Auth<Tenant>>>();
expectTypeOf(bearer(() => undefined, { claims: plain })).toExtend<Authenticator<Auth<Tenant>>>();
expectTypeOf(apiKey({ verify: () => undefined, claims: plain })).toExtend<Authenticator<Auth<Tenant>>>();
expectTypeOf(basic({ verify: () => undefined, claims: plain })).toExtend<Authenticator<Auth<Tenant>>>();
expectTypeOf(
  jwt({ ...base, claims: z.object({ n: z.string().transform(Number), page: z.number().default(1) }) }),
).toExtend<Authenticator<Auth<{ n: number; page: number }>>>();

expectTypeOf(jwt(base)).not.toExtend<Authenticator<Auth<Tenant>>>();
expectTypeOf(jwt({ ...base, claims: z.object({ tenant: z.number() }) })).not.toExtend<Authenticator<Auth<Tenant>>>();
expectTypeOf(jwt({ ...base, claims: z.object({}) })).not.toExtend<Authenticator<Auth<Tenant>>>();

// @ts-expect-error a schema is no text
jwt({ ...base, claims: "tenant" });
// @ts-expect-error what is checked by nothing must be JSON
bearer(() => ({ principal: "ann", claims: { since: new Date() } }));
// @ts-expect-error who is known has a principal
apiKey({ verify: () => ({ claims: { tenant: "acme" } }), claims: plain });

// Where nothing is declared, any authenticator will do.
const shop = createServer({ name: "shop", version: "1" });
const keys = apiKey({ verify: (key) => ({ principal: key }) });
const any = { type: "object" } as const;
serveHttp(shop, { auth: jwt({ ...base, claims: any }) });
serveHttp(shop, { auth: anyOf(jwt({ ...base, claims: plain }), keys, () => ({ ok: true }), anonymous()) });
serveHttp(shop, { auth: () => ({ ok: true, auth: { principal: "ann" } }) });
// @ts-expect-error an authenticator says who it is
serveHttp(shop, { auth: () => ({ ok: true, auth: { name: "ann" } }) });
