import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";

// What a program extends is extended for all of it, so these are programs of their own.

/** What the compiler says of a program that uses the package as it is published. */
function compile(name: string, code: string, ...options: readonly string[]): string {
  const folder = resolve(".tmp", "types", name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "program.ts"), code);
  const config = { extends: resolve("tsconfig.json"), include: ["program.ts"] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  const tsc = resolve("node_modules", "typescript", "bin", "tsc");
  return spawnSync(process.execPath, [tsc, "-p", folder, ...options], { encoding: "utf8" }).stdout;
}

const head = `
import { apiKey, type Authenticator, basic, bearer, anyOf, introspection, jwt, anonymous } from "plugbay/auth/server";
import { toNodeHandler, serveHttp, toFetchHandler } from "plugbay/http";
import { createServer, type Middleware, prompt, requireAuth, resource, tool, withCall } from "plugbay/server";
import { z } from "zod";

declare module "plugbay/server" {
  interface AuthClaims {
    readonly tenant: string;
    readonly plan?: "free" | "paid";
  }
}
`;

const handlers = `
export const shop = createServer({
  name: "shop",
  version: "1",
  tools: {
    maybe: tool({
      input: z.object({ n: z.number() }),
      output: z.object({ text: z.string() }),
      run: ({ n }, { auth, client }) => {
        const known: string | undefined = auth?.claims.tenant;
        const same: string | undefined = client.auth?.claims.tenant;
        // @ts-expect-error there is no such claim
        auth?.claims.nothing;
        // @ts-expect-error it may be nobody
        auth.claims;
        // @ts-expect-error a claim that may be missing
        const plan: string = auth?.claims.plan;
        return { text: [known, same, plan, n.toFixed()].join() };
      },
    }),
    surely: tool({ run: (_, ctx) => requireAuth(ctx).claims.tenant.length }),
  },
  prompts: { greet: prompt({ get: (_, { auth }) => auth?.claims.tenant.trim() ?? "" }) },
  resources: [resource("x://{id}", { read: ({ id }, { auth }) => id + auth?.claims.tenant.trim() })],
  methods: { "x/tenant": (_, { auth }) => ({ tenant: auth?.claims.tenant.trim() }) },
});
`;

const authenticators = `
const base = { issuer: "https://login.example", audience: "https://shop.example/mcp" };
const client = { ...base, clientId: "shop", clientSecret: "secret" };
const claims = z.object({ tenant: z.string(), more: z.number() });
const plain = { type: "object", properties: { tenant: { type: "string" } } } as const;
const pepper = "kept apart from the hashes";
const serve = (auth: NonNullable<Parameters<typeof serveHttp>[1]>["auth"]) => auth;

serveHttp(shop, { auth: jwt({ ...base, claims }) });
serve(jwt({ ...base, claims: { ...plain, required: ["tenant"] } }));
serve(introspection({ ...client, claims }));
serve(bearer((token) => ({ principal: token, claims: { tenant: "acme" } })));
serve(bearer((token) => ({ principal: token, claims: { any: 1 } }), { claims }));
serve(bearer((token) => ({ principal: token }), { claims }));
serve(apiKey({ verify: async (key) => ({ principal: key, claims: { tenant: "acme", plan: "paid" } }) }));
serve(apiKey({ keys: { ann: { hash: "hash", claims: { tenant: "acme" } } }, pepper }));
serve(apiKey({ keys: { ann: { hash: "hash", claims: { any: 1 } }, bob: "hash" }, pepper, claims }));
serve(basic({ users: { ann: { hash: "hash", claims: { tenant: "acme" } } } }));
serve(anyOf(jwt({ ...base, claims }), bearer(() => undefined), anonymous()));
serve((http) => ({ ok: true, auth: { principal: http.url, claims: { tenant: "acme" } } }));
serve(anonymous());
export const own: Authenticator = () => ({ ok: true, auth: { principal: "ann", claims: { tenant: "acme" } } });
export const known: Middleware = (next) => (call) =>
  next(withCall(call, { peer: { ...call.peer, auth: { principal: "ann", claims: { tenant: "acme" } } } }));

// @ts-expect-error nothing checks the claims
serveHttp(shop, { auth: jwt(base) });
// @ts-expect-error nothing checks the claims
toFetchHandler(shop, { auth: jwt(base) });
// @ts-expect-error nothing checks the claims
toNodeHandler(shop, { auth: jwt(base) });
// @ts-expect-error a claim of another type
serve(jwt({ ...base, claims: z.object({ tenant: z.number() }) }));
// @ts-expect-error another claim
serve(jwt({ ...base, claims: z.object({ plan: z.literal("free") }) }));
// @ts-expect-error a claim that may be missing
serve(jwt({ ...base, claims: plain }));
// @ts-expect-error nothing checks the claims
serve(introspection(client));
// @ts-expect-error no claims
serve(bearer((token) => ({ principal: token })));
// @ts-expect-error a claim of another type
serve(bearer((token) => ({ principal: token, claims: { tenant: 1 } })));
// @ts-expect-error no claims
serve(apiKey({ verify: (key) => ({ principal: key }) }));
// @ts-expect-error a hash says nothing of claims
serve(apiKey({ keys: { ann: "hash" }, pepper }));
// @ts-expect-error no claims
serve(basic({ users: { ann: { hash: "hash" } } }));
// @ts-expect-error one of them does not check the claims
serve(anyOf(jwt({ ...base, claims }), jwt(base)));
// @ts-expect-error no claims
serve(() => ({ ok: true, auth: { principal: "ann" } }));
// @ts-expect-error no claims
export const bare: Authenticator = () => ({ ok: true, auth: { principal: "ann" } });
export const unknown: Middleware = (next) => (call) =>
  // @ts-expect-error no claims
  next(withCall(call, { peer: { ...call.peer, auth: { principal: "ann" } } }));
`;

it("claims that are declared are typed in every handler, and wanted of everything that says who calls", () => {
  expect(compile("auth-claims", head + handlers + authenticators)).toBe("");
});

it("a server is not served by what does not give its claims, and the compiler says which", () => {
  const code = `${head + handlers}
    serveHttp(shop, { auth: jwt({ issuer: "https://login.example", audience: "https://shop.example/mcp" }) });
    export const unused = [apiKey, basic, bearer, anyOf, introspection, toNodeHandler, anonymous, toFetchHandler, withCall];
    export type Unused = Authenticator | Middleware;
  `;
  const said = compile("auth-claims-missing", code);
  expect(said).toMatch(/^\.tmp\/types\/auth-claims-missing\/program\.ts\(\d+,\d+\): error TS2322: /);
  expect(said).toContain("Property 'tenant' is missing");
  expect(said.match(/error TS/g)).toHaveLength(1);
});

it("100 tools that read claims cost the compiler no more than others", () => {
  const tools = Array.from({ length: 100 }, (_, n) => {
    const schema = `{ type: "object", properties: { a${n}: { type: "string" }, b: { type: "number" } }, required: ["a${n}"] }`;
    return `t${n}: tool({ input: ${schema}, run: ({ a${n} }, { auth }) => [a${n}, auth?.claims.tenant.trim()] }),`;
  });
  const code = `import { createServer, tool } from "plugbay/server";
    ${/declare module.*?^}/ms.exec(head)?.[0]}
    export const server = createServer({ name: "x", version: "1", tools: { ${tools.join("\n")} } });`;
  const said = compile("auth-claims-cost", code, "--extendedDiagnostics");
  expect(said).not.toContain("error TS");
  const count = Number(/^Instantiations:\s+(\d+)/m.exec(said)?.[1]);
  expect(count).toBeGreaterThan(100);
  expect(count).toBeLessThanOrEqual(60_000);
});

it("what the guide shows is true", () => {
  const guide = readFileSync("docs/authorization.md", "utf8");
  const [, fence = ""] =
    /^```ts fragment\n((?:(?!^```).*\n)*?.*interface AuthClaims(?:(?!^```).*\n)*)^```/m.exec(guide) ?? [];
  expect(fence).toContain("await serveHttp(");
  expect(compile("auth-claims-guide", fence)).toBe("");
  const lax = fence.replace(", claims: Claims", "");
  expect(lax).not.toBe(fence);
  expect(compile("auth-claims-guide-lax", lax)).toContain("Type 'JsonObject' is not assignable to type 'AuthClaims'");
});
