import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { introspection, jwt } from "../../src/auth/node/server.ts";
import type { Authenticator } from "../../src/protocol/authenticator.ts";
import type { NeededAuth } from "../../src/protocol/peer.ts";
import { createServer, requireAuth, tool } from "../../src/server/index.ts";
import { type HttpServeHandle, type HttpWarning, serveHttp } from "../../src/transport/node/http.ts";
import { modernCall } from "../support/fake-endpoint.ts";
import { createRawClient } from "../support/raw-http.ts";
import { recordSecret } from "../support/secrets.ts";
import { type AuthorizationServer, startProvider } from "./support/provider.ts";

// Claims of tokens that somebody else's authorization server makes, checked on their way to a handler.

const audience = "http://localhost/mcp";

let issuer: AuthorizationServer;
let serving: HttpServeHandle | undefined;
beforeAll(async () => {
  issuer = await startProvider({ format: "jwt" });
});
afterAll(() => issuer[Symbol.asyncDispose]());
afterEach(async () => {
  await serving?.close();
  serving = undefined;
});

const service = createServer({
  name: "claims",
  version: "1",
  tools: { claims: tool({ run: (_, ctx) => JSON.stringify(requireAuth(ctx).claims) }) },
});

/** A token of the machine, from the endpoint itself. */
async function tokenFrom(from: AuthorizationServer): Promise<string> {
  const response = await fetch(`${from.issuer}/token`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa("machine:machine-secret")}` },
    body: new URLSearchParams({ grant_type: "client_credentials", resource: audience, scope: "mcp:read" }),
  });
  const { access_token: token } = (await response.json()) as { access_token: string };
  recordSecret("access token", token);
  return token;
}

async function call(auth: Authenticator<NeededAuth>, from = issuer) {
  const warnings: HttpWarning[] = [];
  serving = await serveHttp(service, { port: 0, auth, onWarning: (warning) => warnings.push(warning) });
  const { body, headers } = modernCall(1, "claims");
  const authorization = `Bearer ${await tokenFrom(from)}`;
  const answer = await createRawClient(serving.port).request({ headers: { ...headers, authorization }, body });
  return { status: answer.status, challenge: answer.headers["www-authenticate"] ?? "", body: answer.body, warnings };
}

const machine = { type: "object", properties: { client_id: { const: "machine" } }, required: ["client_id"] } as const;

describe("claims of a JWT", () => {
  const base = () => ({ issuer: issuer.issuer, audience });

  it("reach handlers as the schema returns them", async () => {
    const claims = z.object({ client_id: z.string().toUpperCase(), tenant: z.string().default("nobody") });
    const { status, body } = await call(jwt({ ...base(), claims }));
    expect(status).toBe(200);
    const [block] = JSON.parse(body).result.content;
    expect(JSON.parse(block.text)).toEqual({ client_id: "MACHINE", tenant: "nobody" });
  });

  it("reach handlers as they are where a plain schema finds nothing wrong", async () => {
    const { status, body } = await call(jwt({ ...base(), claims: machine }));
    expect(status).toBe(200);
    const [block] = JSON.parse(body).result.content;
    expect(JSON.parse(block.text)).toMatchObject({ client_id: "machine", iss: issuer.issuer, scope: "mcp:read" });
  });

  it.each([
    ["a schema of zod", z.object({ tenant: z.string() }), "/tenant is refused by the schema (invalid_type)"],
    ["a plain schema", { ...machine, required: ["client_id", "tenant"] }, 'they must have a property "tenant"'],
  ])("that do not fit %s are a 401, and whoever runs the server hears why", async (_, claims, why) => {
    const { status, challenge, body, warnings } = await call(jwt({ ...base(), claims }));
    expect(status).toBe(401);
    expect(challenge).toContain('error="invalid_token"');
    expect(challenge).toContain('error_description="the claims are not those that this server needs"');
    expect(challenge).toContain('resource_metadata="http://localhost/.well-known/oauth-protected-resource/mcp"');
    expect(`${challenge}${body}`).not.toContain("tenant");
    expect(warnings).toEqual([{ kind: "claims-refused", message: `jwt: claims do not fit: ${why}` }]);
  });

  it("of which a schema makes what cannot be kept are a 503, for it is nobody's fault who calls", async () => {
    const claims = z.object({ iat: z.number().transform((seconds) => new Date(seconds * 1_000)) });
    const { status, warnings } = await call(jwt({ ...base(), claims }));
    expect(status).toBe(503);
    expect(warnings).toEqual([
      { kind: "authenticator-failed", message: expect.stringContaining("jwt: claims must make a JSON object") },
    ]);
  });
});

describe("claims that the issuer tells of a token", () => {
  it("are checked in the same way", async () => {
    await using opaque = await startProvider();
    const base = { issuer: opaque.issuer, audience, clientId: "machine", clientSecret: "machine-secret" };
    const good = await call(introspection({ ...base, claims: z.object({ client_id: z.string() }) }), opaque);
    const [block] = JSON.parse(good.body).result.content;
    expect(JSON.parse(block.text)).toEqual({ client_id: "machine" });
    await serving?.close();
    const bad = await call(introspection({ ...base, claims: z.object({ tenant: z.string() }) }), opaque);
    expect(bad).toMatchObject({ status: 401, warnings: [{ kind: "claims-refused" }] });
  });
});
