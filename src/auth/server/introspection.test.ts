import { describe, expect, it } from "vitest";
import { eventually } from "../../../test/support/patience.ts";
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
  const send = async (token = "opaque", remote = "203.0.113.1") => auth({ ...withToken(token), remoteAddress: remote });
  return { auth, asked, requests, wait, send };
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

  it("keeps client_id principals in their own namespace: a client named like a user is not that user", async () => {
    const principalOf = async (answer: object, options: Partial<IntrospectionOptions> = {}) =>
      protect(answer, options)
        .send()
        .then((found) => found.ok && found.auth?.principal);
    const user = await principalOf({ ...good, client_id: "desktop" });
    expect(user).toBe("https://login.example#ann");
    expect(await principalOf({ ...good, sub: undefined, client_id: "ann" })).toBe("client:https://login.example#ann");
    expect(await principalOf({ ...good, client_id: "ann" })).toBe("client:https://login.example#ann");
    // An endpoint may say that it is anybody.
    const alone = { issuer: undefined as never, endpoint };
    expect(await principalOf({ ...good, iss: "https://login.example" }, alone)).toBe(`${endpoint}#ann`);
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

  it("has introspections in flight capped, and equal tokens share one request (H14)", async () => {
    const waiting: ((answer: unknown) => void)[] = [];
    const answer = (): Promise<unknown> => new Promise((resolve) => waiting.push(resolve));
    const { asked, requests, send } = protect(answer, { maxInFlight: 2, cacheTtlMs: 0 });
    const open = [send("a"), send("b"), send("a"), send("b")];
    await eventually(() => expect(requests).toHaveLength(2));
    const refusals: unknown[] = [];
    const refuse = (error: unknown): undefined => void refusals.push(error);
    // Digests of tokens are made beside each other: any of the three may come last.
    const later = ["c", "d", "e"].map((token) => send(token).catch(refuse));
    const data = { reason: "limit-reached", limit: "maxInFlight", max: 2, scope: "process", retryAfterMs: 1_000 };
    await eventually(() => expect(refusals).toMatchObject([{ code: "limit-reached", data }]));
    for (const resolve of waiting) resolve(good);
    expect((await Promise.all(open)).map(({ ok }) => ok)).toEqual([true, true, true, true]);
    await eventually(() => expect(requests).toHaveLength(4));
    for (const resolve of waiting.slice(2)) resolve(good);
    expect((await Promise.all(later)).flatMap((verified) => verified?.ok ?? [])).toEqual([true, true]);
    expect(asked.filter((url) => url === metadata)).toHaveLength(1);
  });

  it("asks for another address in turn while one has sent more tokens than there are places (H14)", async () => {
    const waiting: ((answer: unknown) => void)[] = [];
    let isQuick = false;
    const answer = (): unknown => (isQuick ? good : new Promise((resolve) => waiting.push(resolve)));
    const { requests, send } = protect(answer, { cacheTtlMs: 0 });
    const refusals: string[] = [];
    const refuse = ({ code }: { readonly code: string }): void => void refusals.push(code);
    const made = Array.from({ length: 256 }, (_, at) => send(`made-up-${at}`).then(() => {}, refuse));
    await eventually(() => expect(requests).toHaveLength(64));
    const other = send("mine", "198.51.100.1");
    // The other one takes the place of one that waits.
    await eventually(() => expect(refusals).toHaveLength(129));
    expect(new Set(refusals)).toEqual(new Set(["limit-reached"]));
    for (const resolve of waiting.splice(0, 2)) resolve({ active: false });
    await eventually(() => expect(requests).toHaveLength(66));
    expect(requests.slice(64).some(({ body }) => String(body).includes("token=mine"))).toBe(true);
    isQuick = true;
    for (const resolve of waiting) resolve(good);
    expect((await other).ok).toBe(true);
    await Promise.all(made);
  });

  it("has 64 introspections in flight unless told otherwise, and gives back the places of those that failed", async () => {
    const waiting: ((answer: unknown) => void)[] = [];
    const { requests, send } = protect(() => new Promise((resolve) => waiting.push(resolve)));
    const open = Array.from({ length: 129 }, (_, at) => send(`token ${at}`.replace(" ", "")).catch((error) => error));
    await eventually(() => expect(requests).toHaveLength(64));
    expect(await Promise.any(open)).toMatchObject({ code: "limit-reached" });
    for (const resolve of waiting) resolve("no object");
    await eventually(() => expect(requests).toHaveLength(128));
    for (const resolve of waiting.slice(64)) resolve("no object");
    expect((await Promise.all(open)).map(({ code }) => code).toSorted()[0]).toBe("http-error");
    const again = send("token0");
    await eventually(() => expect(requests).toHaveLength(129));
    waiting.at(-1)?.(good);
    expect((await again).ok).toBe(true);
    expect(() => protect(good, { maxInFlight: -1 })).toThrow(/maxInFlight must be 0 or more/);
  });

  it("remembers bad tokens apart, so that those somebody makes up push out none that are good", async () => {
    let answer: unknown = good;
    const { requests, send } = protect(() => answer, { maxInFlight: 0 });
    await send("good");
    answer = { active: false };
    for (let at = 0; at <= 1_000; at++) await send(`bad${at}`);
    requests.length = 0;
    expect((await send("bad1000")).ok).toBe(false);
    expect((await send("good")).ok).toBe(true);
    expect(requests).toEqual([]);
    expect((await send("bad0")).ok).toBe(false);
    expect(requests).toHaveLength(1);
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
