import { generateKeyPairSync } from "node:crypto";
import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { createWorld, request, takes } from "../../test/support/auth-world.ts";
import { httpWith } from "../../test/support/tokens.ts";
import { clientCredentials, jwtBearer, oauth, tokenExchange } from "./client/index.ts";
import type { SafeFetch } from "./safe-fetch.ts";
import { apiKey } from "./server/api-key.ts";
import { basic } from "./server/basic.ts";
import { createIntrospection } from "./server/introspection.ts";

// Secrets with a real form in every place that has one; whoever is asked repeats all it was told, in any coding.

const secret = "s3cr3t/+ of=the&client";
const subject = "subject-token-0123456789";
const assertion = "assertion-0123456789";
const key = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ type: "pkcs8", format: "pem" });
const pem = key.toString();

/** All that an error shows, of its causes too. */
function shown(error: unknown): string {
  return `${String(error)} ${JSON.stringify(error)} ${inspect(error, { depth: 10, showHidden: true })}`;
}

/** The forms in which a text may be written. */
function formsOf(text: string): readonly string[] {
  const form = new URLSearchParams({ "": text }).toString().slice(1);
  return [text, form, encodeURIComponent(text), JSON.stringify(text).slice(1, -1)];
}

async function failureOf(work: () => unknown): Promise<unknown> {
  try {
    await work();
  } catch (error) {
    return error;
  }
  throw new Error("nothing failed");
}

/** How an endpoint repeats a request in the description of its error. */
const echoes: Readonly<Record<string, (headers: Headers, body: string) => string>> = {
  header: (headers) => `bad header ${headers.get("authorization")}`,
  body: (_, body) => `bad body ${body}`,
  "part of the body": (_, body) => [...new URLSearchParams(body).values()].join(" "),
  "part of the body, cut off": (_, body) =>
    [...new URLSearchParams(body).entries()].map(([name, text]) => `${name} ${text.slice(0, 60)}`).join(" "),
};

const world = createWorld();
const echoing =
  (echo: (headers: Headers, body: string) => string, sent: string[]): typeof fetch =>
  async (input, init) => {
    if (!String(input).endsWith("/token")) return world.fetch(input, init);
    const [headers, body] = [new Headers(init?.headers), String(init?.body)];
    const parameters = [...new URLSearchParams(body)].filter(([name]) => secretParameters.has(name));
    sent.push(headers.get("authorization")?.replace("Basic ", "") ?? "", ...parameters.map(([, text]) => text));
    const problem = { error: "invalid_request", error_description: echo(headers, body) };
    return Response.json(problem, { status: 400 });
  };
const secretParameters = new Set([
  "client_secret",
  "client_assertion",
  "assertion",
  "subject_token",
  "code",
  "code_verifier",
]);

describe.each(Object.entries(echoes))("an authorization server that repeats the %s", (_, echo) => {
  const issuer = "https://as.example";
  const ways: Readonly<Record<string, (fetch: typeof globalThis.fetch) => ReturnType<typeof oauth>>> = {
    clientCredentials: (fetch) => clientCredentials({ fetch, issuer, clientId: "a", clientSecret: secret }),
    client_secret_post: (fetch) =>
      clientCredentials({ fetch, issuer, clientId: "a", clientSecret: secret, authMethod: "client_secret_post" }),
    private_key_jwt: (fetch) =>
      clientCredentials({ fetch, issuer, clientId: "a", privateKey: { pem, algorithm: "ES256" } }),
    tokenExchange: (fetch) =>
      tokenExchange({ fetch, issuer, clientId: "a", clientSecret: secret, subjectToken: subject }),
    jwtBearer: (fetch) => jwtBearer({ fetch, issuer, assertion }),
    oauth: (fetch) =>
      oauth({
        fetch,
        redirectUri: world.redirectUri,
        authorize: world.authorize,
        client: { issuer, clientId: "a", clientSecret: secret },
      }),
  };

  it.each(Object.entries(ways))("tells nobody what %s has sent", async (_, create) => {
    const sent: string[] = [];
    const error = await failureOf(() => request(create(echoing(echo, sent)), world.server, takes("none")));
    expect(String(error)).toContain("https://as.example refuses: invalid_request");
    const text = shown(error);
    const told = sent.filter((one) => one !== "");
    expect(told).not.toHaveLength(0);
    for (const one of [...told, secret, subject, assertion]) {
      expect(formsOf(one).filter((form) => text.includes(form))).toEqual([]);
      // Neither is the beginning of one that was cut off.
      expect(text).not.toContain(one.slice(0, 24));
    }
  });
});

describe("mistakes in definitions", () => {
  it("do not show keys, hashes and passwords, also where name and value were swapped", async () => {
    const live = "sk-live-abcdefghijklmnop123456";
    const hash = `hmac-sha256$${"A".repeat(42)}`;
    const pepper = "a pepper of more than sixteen";
    for (const define of [
      () => apiKey({ keys: { [live]: "ann" }, pepper }),
      () => apiKey({ keys: { ann: hash }, pepper }),
      () => apiKey({ keys: { [live]: { hash: `${hash}A`, scopes: ["not a scope"] } }, pepper }),
      () => apiKey({ keys: { ann: hash }, pepper: live.slice(0, 15) }),
      () => basic({ users: { [live]: "ann" } }),
      () => basic({ users: { ann: live } }),
    ]) {
      const text = shown(await failureOf(define));
      for (const one of [live, hash, pepper, live.slice(0, 15)]) expect(text).not.toContain(one);
    }
  });
});

describe("an issuer that repeats what it was asked", () => {
  it("makes errors without token and secret", async () => {
    const token = "opaque-token-0123456789";
    const options = { clientId: "shop", clientSecret: secret, issuer: "https://as.example", audience: "x" };
    for (const status of [200, 400]) {
      const fetch: SafeFetch = async (url, sent) => {
        const { href } = new URL(url);
        if (href.includes("/.well-known/")) {
          return Response.json({
            issuer: "https://as.example",
            introspection_endpoint: "https://as.example/introspect",
          });
        }
        const text = `${sent?.body} ${new Headers(sent?.headers).get("authorization")}`;
        return Response.json({ active: text, error: text, error_description: text }, { status });
      };
      const asked = createIntrospection(options, { fetch, now: Date.now });
      const text = shown(await failureOf(() => asked(httpWith({ authorization: `Bearer ${token}` }))));
      expect(text).toContain("https://as.example");
      for (const one of [token, secret, btoa("shop:")]) {
        expect(formsOf(one).filter((form) => text.includes(form))).toEqual([]);
      }
    }
  });
});
