import { describe, expect, it } from "vitest";
import { audience, createFakeFetch, noon, withToken } from "../../../test/support/tokens.ts";
import type { SafeRequest } from "../safe-fetch.ts";
import { createIntrospection, type IntrospectionOptions, introspection } from "./introspection.ts";

const endpoint = "https://login.example/introspect";
const metadata = "https://login.example/.well-known/oauth-authorization-server";
const good = { active: true, sub: "ann", scope: "read", aud: audience, exp: noon / 1_000 + 60 };
const client = { clientId: "shop", clientSecret: "secret-of-the-shop" };

function protect(answer: unknown, options: Partial<IntrospectionOptions> = {}) {
  const requests: SafeRequest[] = [];
  const respond = (request: SafeRequest): unknown => {
    requests.push(request);
    return typeof answer === "function" ? answer() : answer;
  };
  const documents = {
    [metadata]: { issuer: "https://login.example", introspection_endpoint: endpoint },
    [endpoint]: respond,
  };
  const { fetch, asked } = createFakeFetch(documents);
  let now = noon;
  const auth = createIntrospection(
    { ...client, issuer: "https://login.example", audience, ...options },
    { fetch, now: () => now },
  );
  const wait = (ms: number): void => {
    now += ms;
  };
  return { auth, asked, requests, wait, send: async (token = "opaque") => auth(withToken(token)) };
}

const refused = (description: string) => ({ ok: false, status: 401, error: "invalid_token", description });

describe("introspection", () => {
  it("asks the issuer, and says whose the token is", async () => {
    const { asked, requests, send } = protect({ ...good, username: "Ann" });
    expect(await send()).toMatchObject({
      ok: true,
      auth: { principal: "https://login.example#ann", scopes: ["read"], claims: { username: "Ann", aud: audience } },
    });
    expect(asked).toEqual([metadata, endpoint]);
    expect(requests[0]).toMatchObject({ method: "POST", body: expect.stringContaining("token=opaque") });
    const headers = new Headers(requests[0]?.headers);
    expect(atob(headers.get("authorization")?.slice("Basic ".length) ?? "")).toBe("shop:secret-of-the-shop");
  });

  it.each([
    ["is not active", { active: false }, "the token is not active"],
    ["has expired", { ...good, exp: noon / 1_000 - 61 }, "the token has expired"],
    ["is not valid yet", { ...good, nbf: noon / 1_000 + 61 }, "the token is not valid yet"],
    ["is for another", { ...good, aud: "https://other.example" }, "the token is not for this server"],
    ["is for nobody", { ...good, aud: undefined }, "the token is not for this server"],
    ["is of another issuer", { ...good, iss: "https://evil.example" }, "the token is of another issuer"],
    ["is of nobody", { ...good, sub: undefined }, "the token does not say whose it is"],
  ])("refuses a token that %s", async (_, answer, description) => {
    expect(await protect(answer).send()).toMatchObject(refused(description));
  });

  it("leaves the audience to the issuer only when told so", async () => {
    const { aud: _, ...bare } = good;
    expect(await protect(bare, { audience: "any" }).send()).toMatchObject({ ok: true });
    expect(await protect({ ...good, aud: ["x", audience] }).send()).toMatchObject({ ok: true });
  });

  it("asks once for a while, also when several come at the same time", async () => {
    const { requests, send, wait } = protect(good);
    await Promise.all([send(), send(), send()]);
    await send();
    expect(requests).toHaveLength(1);
    await send("another");
    expect(requests).toHaveLength(2);
    wait(30_000);
    await send();
    expect(requests).toHaveLength(3);
  });

  it("asks each time where nothing may be kept", async () => {
    const { requests, send } = protect(good, { cacheTtlMs: 0 });
    await send();
    await send();
    expect(requests).toHaveLength(2);
  });

  it("cannot tell when it gets no answer, keeps no failure, and repeats no secret", async () => {
    let answer: unknown;
    const { send } = protect(() => answer);
    for (const broken of [undefined, [], { active: "yes" }, "token opaque secret-of-the-shop"]) {
      answer = broken;
      const error: unknown = await send().then(
        () => expect.unreachable(),
        (reason) => reason,
      );
      expect(String(error)).toMatch(/^McpError: https:\/\/login.example/);
      expect(JSON.stringify(error)).not.toMatch(/opaque|secret-of/);
      expect((error as Error).cause).toBeUndefined();
    }
    answer = good;
    expect(await send()).toMatchObject({ ok: true });
  });

  it("needs no issuer where the endpoint is known, and then tells clients of none", async () => {
    const { asked, auth, send } = protect(good, { issuer: undefined as never, endpoint });
    expect(await send()).toMatchObject({ ok: true, auth: { principal: `${endpoint}#ann` } });
    expect(asked).toEqual([endpoint]);
    expect(auth.metadata).toBeUndefined();
    expect(protect(good).auth.metadata).toMatchObject({ authorization_servers: ["https://login.example"] });
  });

  it("refuses bad options", () => {
    expect(() => introspection({ ...client, audience })).toThrow(/issuer or endpoint is needed/);
    expect(() => introspection({ ...client, audience, endpoint: "here" })).toThrow(/are URLs/);
  });

  it("checks the key that a token is bound to", async () => {
    expect(await protect({ ...good, cnf: { jkt: "abc" } }).send()).toMatchObject({ ok: false, scheme: "DPoP" });
  });
});
