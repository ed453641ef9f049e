import {
  Client,
  type OAuthClientInformationMixed,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type OAuthTokens,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { oauth } from "../../src/auth/node/client.ts";
import { connect } from "../../src/connect/connect.ts";
import { recordSecrets } from "../support/secrets.ts";
import { type DocumentServer, startDocumentServer } from "./support/document-server.ts";
import { type GithubLike, idOf, startGithubLike } from "./support/github.ts";
import { type ProxyProcess, startProxyProcess } from "./support/proxy-process.ts";
import { createRawClient } from "./support/raw-client.ts";
import { createUser } from "./support/user-agent.ts";

// Clients of others and ours, each by registration and by a metadata document, at a server in a process of its own.

const redirectUri = "http://127.0.0.1:4999/callback";

let provider: GithubLike;
let documents: DocumentServer;
let server: ProxyProcess;
let principal = "";
beforeAll(async () => {
  [provider, documents] = await Promise.all([startGithubLike(), startDocumentServer()]);
  server = await startProxyProcess({ provider: provider.url, ca: documents.ca });
  principal = `${provider.url}#${idOf("octocat")}`;
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await documents[Symbol.asyncDispose]();
  await provider[Symbol.asyncDispose]();
});

const published = {
  client_name: "Published client",
  redirect_uris: [redirectUri],
  grant_types: ["authorization_code", "refresh_token"],
};

/** Keeps what the official client wants kept, and has a user sign in. */
function officialProvider(user: ReturnType<typeof createUser>, clientMetadataUrl?: string) {
  let client: OAuthClientInformationMixed | undefined;
  let tokens: OAuthTokens | undefined;
  let verifier = "";
  let discovery: OAuthDiscoveryState | undefined;
  let answer: URLSearchParams | undefined;
  const provider: OAuthClientProvider = {
    redirectUrl: redirectUri,
    ...(clientMetadataUrl !== undefined && { clientMetadataUrl }),
    clientMetadata: {
      redirect_uris: [redirectUri],
      client_name: "Official client",
      token_endpoint_auth_method: "none",
    },
    clientInformation: () => client,
    saveClientInformation(saved) {
      client = saved;
    },
    tokens: () => tokens,
    saveTokens(saved) {
      recordSecrets(saved);
      tokens = saved;
    },
    async redirectToAuthorization(url) {
      answer = new URL(await user.authorize(url, { redirectUri })).searchParams;
    },
    saveCodeVerifier(saved) {
      verifier = saved;
    },
    codeVerifier: () => verifier,
    saveDiscoveryState(saved) {
      discovery = saved;
    },
    discoveryState: () => discovery,
  };
  return {
    provider,
    answer: () => answer ?? new URLSearchParams(),
    clientId: () => client?.client_id,
    tokens: () => tokens,
  };
}

describe.each(["registration", "a metadata document"])("by %s", (way) => {
  const documentUrl = (): string | undefined =>
    way === "registration" ? undefined : documents.publish("/client.json", published);

  it.each(["2025-11-25", "2026-07-28"] as const)(
    "our client of %s signs in and calls a tool (Q14)",
    async (revision) => {
      const user = createUser();
      const auth = oauth({
        authorize: user.authorize,
        redirectUri,
        clientName: "Our client",
        clientMetadataUrl: documentUrl(),
      });
      await using client = await connect(server.url, { auth, revision });
      expect(await client.callTool("whoami")).toMatchObject({ content: [{ text: principal }] });
      expect(await client.callTool("upstream")).toMatchObject({ content: [{ text: "a token" }] });
      const name = way === "registration" ? "Our client" : "Published client";
      expect(user.titles[0]).toMatch(new RegExp(`^Allow ${name} to use 127`));
    },
  );

  it("the official client signs in, calls a tool, and refreshes its token (Q14)", async () => {
    const url = documentUrl();
    const { provider: authProvider, answer, clientId, tokens } = officialProvider(createUser(), url);
    const first = new StreamableHTTPClientTransport(new URL(server.url), { authProvider });
    const refused = new Client({ name: "official", version: "1" });
    await expect(refused.connect(first)).rejects.toThrow(UnauthorizedError);
    await first.finishAuth(answer());
    const transport = new StreamableHTTPClientTransport(new URL(server.url), { authProvider });
    const client = new Client({ name: "official", version: "1" });
    await client.connect(transport);
    const called = await client.callTool({ name: "whoami", arguments: {} });
    expect(called).toMatchObject({ content: [{ text: principal }] });
    if (url !== undefined) expect(clientId()).toBe(url);
    const before = tokens()?.refresh_token;
    authProvider.saveTokens({ ...(tokens() as OAuthTokens), access_token: "at.forgotten" });
    expect(await client.callTool({ name: "whoami", arguments: {} })).toMatchObject({ content: [{ text: principal }] });
    expect(tokens()?.refresh_token).not.toBe(before);
    await client.close();
  });
});

describe("a metadata document", () => {
  const statusOf = async (clientId: string): Promise<{ readonly status: number; readonly page: string }> => {
    const client = await createRawClient(server.origin, { clientId });
    const { response, page } = await createUser().browse(client.authorizeUrl(), () => true);
    return { status: response.status, page };
  };

  it("vouches for the name of a client by its host, and is kept for a while", async () => {
    const url = documents.publish("/kept.json", published);
    const before = documents.asked.length;
    const { status, page } = await statusOf(url);
    expect(status).toBe(200);
    expect(page).toContain(`Published by ${new URL(url).host}`);
    await statusOf(url);
    expect(documents.asked.slice(before)).toEqual(["/kept.json"]);
  });

  it.each([
    ["of another client", { ...published, client_id: "https://evil.example/client.json" }, "is of another client"],
    ["without redirect URIs", { client_name: "x" }, "has no redirect_uris"],
    [
      "with other redirect URIs",
      { ...published, redirect_uris: ["https://app.example/callback"] },
      "has not registered",
    ],
    ["that asks for a secret", { ...published, token_endpoint_auth_method: "client_secret_basic" }, "key or a secret"],
    ["that is too long", { ...published, padding: "x".repeat(20_000) }, "cannot be read"],
  ])("%s is refused (Q11)", async (name, document, problem) => {
    const { status, page } = await statusOf(documents.publish(`/${name.replaceAll(" ", "-")}.json`, document));
    expect(status).toBe(400);
    expect(page).toContain(problem);
  });

  it("is not looked for where somebody else points to (Q11)", async () => {
    const target = documents.publish("/target.json", published);
    const { status, page } = await statusOf(documents.redirect("/moved.json", target));
    expect([status, page.includes("cannot be read")]).toEqual([400, true]);
    expect(documents.asked).not.toContain("/target.json");
    expect((await statusOf(`${documents.origin}/missing.json`)).status).toBe(400);
  });
});
