import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import type { ModelChoice, RunToolsOptions, SamplerOptions } from "../src/agent/index.ts";
import { runTools } from "../src/agent/run-tools.ts";
import { createSampler } from "../src/agent/sampler.ts";
import { clientCredentials, type OAuthOptions, oauth } from "../src/auth/client/index.ts";
import { apiKey, hashApiKey } from "../src/auth/server/api-key.ts";
import { createIntrospection } from "../src/auth/server/introspection.ts";
import { createJwt } from "../src/auth/server/jwt.ts";
import { aiSdk } from "../src/bridge/ai-sdk/index.ts";
import { anthropic } from "../src/bridge/anthropic/index.ts";
import { gemini } from "../src/bridge/gemini/index.ts";
import { openaiChat, openaiResponses } from "../src/bridge/openai/index.ts";
import { toolLoop } from "../src/bridge/tool-loop.ts";
import type { SelectionPolicy } from "../src/catalog/index.ts";
import type { ConfigEnvironment } from "../src/config/index.ts";
import { loadConfig } from "../src/config/node/load-config.ts";
import { connect } from "../src/connect/connect.ts";
import { connectOptionNames } from "../src/connect/connect-options.ts";
import type { Command, ConnectOptions, UrlEntry } from "../src/connect/index.ts";
import type { OpenHostOptions, RestartOptions, ServerSpec, ToolFilter, Trust } from "../src/host/index.ts";
import { openHost } from "../src/host/node/open-host.ts";
import { type RateLimitOptions, rateLimit } from "../src/middleware/rate-limit.ts";
import type { CreateMessageParams } from "../src/protocol/input.ts";
import { ownInfo } from "../src/protocol/own-info.ts";
import { createServer, resourceLink, tool } from "../src/server/index.ts";
import { memoryStore } from "../src/store/memory-store.ts";
import { openStore } from "../src/store/node/index.ts";
import type { AppendOptions, PutOptions, Store, StoreListOptions } from "../src/store/store.ts";
import { createManualClock } from "../src/testing/clock.ts";
import { serveHttp } from "../src/transport/node/serve-http.ts";
import { type ServeStdioOptions, serveStdio } from "../src/transport/node/stdio.ts";
import { createWorld, request, takes } from "./support/auth-world.ts";
import { audience, createFakeFetch, createFakeIssuer, httpWith, noon, withToken } from "./support/tokens.ts";

/** All optional members of a type, undefined: the compiler says which is missing here. */
type Nothing<T> = { [K in keyof T as Record<never, never> extends Pick<T, K> ? K : never]-?: undefined };

const nothing: ConnectOptions = Object.fromEntries(Object.keys(connectOptionNames).map((name) => [name, undefined]));

const who = tool({ run: (_, ctx) => JSON.stringify([ctx.client.info, ctx.client.capabilities]) });
const shop = createServer({ name: "shop", version: "1", tools: { who, buy: tool({ run: () => "bought" }) } });

const textOf = (result: { readonly content: readonly unknown[] }): unknown => result.content[0];

describe("an option that is undefined is as good as none", () => {
  it("for connect, in this process (T4)", async () => {
    await using plain = await connect(shop);
    await using client = await connect(shop, nothing);
    expect(textOf(await client.callTool("who"))).toEqual(textOf(await plain.callTool("who")));
    expect(JSON.stringify(textOf(await client.callTool("who")))).toContain(ownInfo.name);
    const info = { name: "me", version: "1", title: undefined, description: undefined };
    await using named = await connect(shop, { info: { ...info, websiteUrl: undefined, icons: undefined } });
    const text = JSON.stringify(await named.callTool("who"));
    expect(text).toContain("me");
    expect(text).not.toContain("title");
  });

  it("for connect, over HTTP, and for the entry of a URL (T4)", async () => {
    await using serving = await serveHttp(shop, { port: 0 });
    const entry: UrlEntry & Nothing<UrlEntry> = { url: serving.url, type: undefined, headers: undefined };
    await using client = await connect(entry, nothing);
    expect(textOf(await client.callTool("buy"))).toEqual({ type: "text", text: "bought" });
  });

  it("for a command (T4)", async () => {
    const command: Command & Nothing<Omit<Command, "args">> = {
      command: process.execPath,
      args: ["test/fixtures/official-v2-server.mjs"],
      cwd: undefined,
      env: undefined,
      inheritEnv: undefined,
      stderr: undefined,
    };
    await using client = await connect(command, nothing);
    expect((await client.listTools()).length).toBeGreaterThan(0);
  });

  it("for the handle of a task, which keeps its headers (T4)", async () => {
    const slow = createServer({
      name: "slow",
      version: "1",
      tools: { wait: tool({ task: "required", run: () => "done" }) },
    });
    const seen: unknown[] = [];
    await using serving = await serveHttp(slow, { port: 0 });
    const spy: typeof fetch = (input, init) => {
      const { method } = JSON.parse(String(init?.body ?? "{}")) as { method?: string };
      if (method === "tasks/get") seen.push(new Headers(init?.headers).get("x-tenant"));
      return fetch(input, init);
    };
    await using client = await connect(serving.url, { fetch: spy });
    const task = await client.tasks.start("wait", {}, { headers: { "x-tenant": "a" } });
    await task.status({ headers: undefined, signal: undefined, timeoutMs: undefined });
    expect(seen).toContain("a");
    expect(seen).not.toContain(null);
  });

  it("for openHost and its servers (T4)", async () => {
    const options: OpenHostOptions & Nothing<OpenHostOptions> = {
      connect: undefined,
      maxConnecting: undefined,
      restart: undefined,
      pingIntervalMs: undefined,
      idleTimeoutMs: undefined,
      listTimeoutMs: undefined,
      listTtlMs: undefined,
      drainMs: undefined,
      policy: undefined,
      onApprove: undefined,
      lock: undefined,
      resultLimits: undefined,
      budgets: undefined,
      maxRetries: undefined,
      stateKeys: undefined,
      info: undefined,
      telemetry: undefined,
      connectOptions: undefined,
      clock: undefined,
      onElicit: undefined,
      onElicitUrl: undefined,
      onSample: undefined,
      sampling: undefined,
      roots: undefined,
      onRequest: undefined,
      onLog: undefined,
      onWarning: undefined,
      environment: undefined,
      auth: undefined,
      trustFileApprovals: undefined,
      watch: undefined,
      onConfigProblem: undefined,
    };
    const trust: Trust & Nothing<Trust> = { ask: undefined, sample: undefined, roots: undefined };
    const tools: ToolFilter & Nothing<ToolFilter> = { allow: undefined, deny: undefined };
    const spec: ServerSpec & Nothing<Omit<ServerSpec, "trust" | "tools" | "connectOptions">> = {
      target: shop,
      connect: undefined,
      trust,
      tools,
      approved: undefined,
      scopes: undefined,
      connectOptions: nothing,
      idleTimeoutMs: undefined,
      disabled: undefined,
    };
    await using host = await openHost({ shop: spec }, options);
    expect((await host.listTools()).map(({ name }) => name)).toEqual(["shop:who", "shop:buy"]);
    expect(JSON.stringify(await host.callTool("shop:who"))).toContain(ownInfo.name);
    // What is said for all servers holds for one that says nothing.
    const info = { name: "our host", version: "1", title: undefined };
    await using named = await openHost(
      { shop: { target: shop, connectOptions: { info: undefined } } },
      { connectOptions: { info } },
    );
    expect(JSON.stringify(await named.callTool("shop:who"))).toContain("our host");
    await using told = await openHost({ shop }, { info, connectOptions: { info: undefined } });
    expect(JSON.stringify(await told.callTool("shop:who"))).toContain("our host");
  });

  it("for the rules by which a server is tried again (T4)", async () => {
    const restart: RestartOptions & Nothing<RestartOptions> = {
      minDelayMs: undefined,
      maxDelayMs: undefined,
      maxFailures: undefined,
      windowMs: undefined,
      stableMs: undefined,
    };
    const clock = createManualClock();
    await using host = await openHost({ gone: ["/no/such/program"] }, { restart, clock });
    expect(await host.settled()).toMatchObject([{ state: "down", retryInMs: 250 }]);
  });

  it("for stores (T4)", async () => {
    const put: PutOptions & Nothing<PutOptions> = {
      ttlMs: undefined,
      group: undefined,
      version: undefined,
      fence: undefined,
    };
    const append: AppendOptions & Nothing<AppendOptions> = { ttlMs: undefined, keep: undefined, fence: undefined };
    const list: StoreListOptions & Nothing<StoreListOptions> = { after: undefined, limit: undefined };
    const use = async (store: Store): Promise<void> => {
      expect(await store.values.put("a", "1", put)).toBeTypeOf("string");
      expect(await store.values.put("a", "2", put)).toBeTypeOf("string");
      expect(await store.values.list("g", list)).toEqual([]);
      expect(await store.streams.append("s", ["1"], append)).toBe(1);
      expect(await store.values.delete("a", { version: undefined, fence: undefined })).toBe(true);
    };
    await using opened = await openStore("memory:", { prefix: undefined });
    await use(opened);
    await using made = memoryStore({ clock: undefined });
    await use(made);
  });

  it("for oauth (T4)", async () => {
    const { server, fetch, authorize, redirectUri, to } = createWorld();
    const options: OAuthOptions & Nothing<Omit<OAuthOptions, "fetch" | "authorize" | "redirectUri">> = {
      client: undefined,
      clientMetadataUrl: undefined,
      clientName: undefined,
      clientUri: undefined,
      redirect: undefined,
      signInTimeoutMs: undefined,
      signal: undefined,
      tokens: undefined,
      scopes: undefined,
      dpop: undefined,
      allowPrivateNetwork: undefined,
      onEvent: undefined,
      clock: undefined,
      now: undefined,
      fetch,
      authorize,
      redirectUri,
    };
    expect(await request(oauth(options), server, takes("t1"))).toEqual({ authorization: "Bearer t1" });
    expect(to("/register")[0]?.fields).toMatchObject({ client_name: "plugbay" });
    expect(to("/register")[0]?.fields).not.toHaveProperty("client_uri");
  });

  it("for clientCredentials (T4)", async () => {
    const { server, fetch, to } = createWorld();
    const none = { privateKey: undefined, authMethod: undefined, tokens: undefined, scope: undefined, dpop: undefined };
    const time = { allowPrivateNetwork: undefined, onEvent: undefined, clock: undefined, now: undefined };
    const client = { issuer: "https://as.example", clientId: "a", clientSecret: "s" };
    await request(clientCredentials({ ...client, ...none, ...time, fetch }), server, takes("t1"));
    expect(to("/token")[0]?.fields).toEqual({ grant_type: "client_credentials", resource: server.href });
  });

  it("for jwt and introspection, and for what they publish (T4)", async () => {
    const { issuer, jwks, token } = await createFakeIssuer();
    const { fetch } = createFakeFetch({
      "https://login.example/introspect": { active: true, sub: "ann", aud: audience },
    });
    const means = { fetch, now: () => noon };
    const dpop = { required: undefined, nonce: undefined, store: undefined, maxAgeMs: undefined };
    const none = { claims: undefined, requiredScopes: undefined, implies: undefined, resource: undefined };
    const more = { ...none, clockToleranceMs: undefined, allowPrivateNetwork: undefined, principal: undefined };
    const metadata = { authorization_servers: undefined, scopes_supported: undefined, resource_name: undefined };

    const plain = createJwt({ issuer, jwks, audience }, means);
    const signed = createJwt(
      { issuer, jwks, audience, algorithms: undefined, ...more, metadata, dpop: undefined },
      means,
    );
    expect(signed.metadata).toStrictEqual(plain.metadata);
    expect(signed.schemes).toEqual(plain.schemes);
    expect(await signed(withToken(await token()))).toMatchObject({ ok: true });
    const bound = createJwt({ issuer, jwks, audience, dpop }, means);
    expect(bound.schemes).toEqual(createJwt({ issuer, jwks, audience, dpop: {} }, means).schemes);

    const client = { clientId: "shop", clientSecret: "secret-of-the-shop", audience };
    const endpoint = "https://login.example/introspect";
    const asking = { ...client, ...more, endpoint, issuer: undefined, cacheTtlMs: undefined, dpop: undefined };
    const opaque = createIntrospection({ ...asking, metadata: undefined }, means);
    expect(opaque.metadata).toBeUndefined();
    expect(await opaque(withToken("opaque"))).toMatchObject({ ok: true });
    const known = createIntrospection({ ...client, issuer, metadata }, means);
    expect(known.metadata).toStrictEqual(createIntrospection({ ...client, issuer, metadata: {} }, means).metadata);
  });

  it("for apiKey (T4)", async () => {
    const pepper = "a pepper of many characters";
    const hash = await hashApiKey("key", pepper);
    const keys = { ci: { hash, principal: undefined, scopes: undefined, claims: undefined } };
    const none = { header: undefined, requiredScopes: undefined, claims: undefined, verify: undefined };
    const auth = await apiKey({ keys, pepper, ...none })(httpWith({ "x-api-key": "key" }));
    expect(auth).toStrictEqual(await apiKey({ keys: { ci: hash }, pepper })(httpWith({ "x-api-key": "key" })));
    expect(auth).toMatchObject({ ok: true, auth: { principal: "ci" } });
  });

  it("for rateLimit (T4)", async () => {
    const none: Nothing<RateLimitOptions> = {
      by: undefined,
      methods: undefined,
      cost: undefined,
      store: undefined,
      name: undefined,
      storeFailure: undefined,
      onError: undefined,
      clock: undefined,
    };
    const tools = { buy: tool({ run: () => "bought" }) };
    const use = [rateLimit({ limit: 1, windowMs: 3_600_000, ...none })];
    await using client = await connect(createServer({ name: "shop", version: "1", tools, middleware: use }));
    await client.callTool("buy");
    await expect(client.callTool("buy")).rejects.toMatchObject({ code: "limit-reached" });
  });

  it("for serveStdio, which still minds signals (T4)", async () => {
    const none: Nothing<Omit<ServeStdioOptions, "stdin" | "stdout" | "stderr" | "exit">> = {
      drainMs: undefined,
      signals: undefined,
      progressGapMs: undefined,
      clock: undefined,
      limits: undefined,
      budgets: undefined,
      platform: undefined,
      onEvent: undefined,
    };
    const before = process.listenerCount("SIGTERM");
    const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
    const handle = await serveStdio(shop, { ...none, ...streams, exit: false });
    expect(process.listenerCount("SIGTERM")).toBe(before + 1);
    await handle.close();
    expect(process.listenerCount("SIGTERM")).toBe(before);
  });

  it("for runTools, createSampler and toolLoop (T4)", async () => {
    const asked: CreateMessageParams[] = [];
    const model = async (params: CreateMessageParams) => {
      asked.push(params);
      return { role: "assistant" as const, content: { type: "text" as const, text: "5" }, model: "m" };
    };
    const none: Nothing<Omit<RunToolsOptions, "selection">> = {
      systemPrompt: undefined,
      maxTokens: undefined,
      maxTurns: undefined,
      maxTotalMs: undefined,
      maxCalls: undefined,
      maxParallel: undefined,
      maxContextTokens: undefined,
      onEvent: undefined,
      signal: undefined,
      clock: undefined,
    };
    const selection: SelectionPolicy & Nothing<SelectionPolicy> = {
      kind: "auto",
      maxTokens: undefined,
      maxAnswerTokens: undefined,
      servers: undefined,
      summaries: undefined,
    };
    await using host = await openHost({ shop });
    await runTools({ model, tools: host, messages: "How much?" });
    await runTools({ model, tools: host, messages: "How much?", ...none, selection: undefined });
    await runTools({ model, tools: host, messages: "How much?", ...none, selection });
    expect(asked[1]).toStrictEqual(asked[0]);
    expect(asked[2]).toStrictEqual(asked[0]);

    const choice: Nothing<ModelChoice> = {
      cost: undefined,
      speed: undefined,
      intelligence: undefined,
      aliases: undefined,
    };
    const sampling: Nothing<SamplerOptions<ModelChoice>> = {
      onApprove: undefined,
      tools: undefined,
      maxTurns: undefined,
      maxTotalMs: undefined,
      maxTokens: undefined,
      clock: undefined,
    };
    const generate = (_: ModelChoice, params: CreateMessageParams) => model(params);
    const sampler = createSampler({ models: [{ name: "m", ...choice }], generate, ...sampling });
    await sampler({ messages: [], maxTokens: 10_000 }, { server: "shop", signal: new AbortController().signal });
    expect(asked[3]).toStrictEqual({ messages: [], maxTokens: 4096 });

    const loop = {
      maxTurns: undefined,
      maxTotalMs: undefined,
      signal: undefined,
      clock: undefined,
      systemPrompt: undefined,
    };
    const more = { temperature: undefined, stopSequences: undefined, metadata: undefined, toolChoice: undefined };
    const wishes = { modelPreferences: undefined, includeContext: undefined };
    const run = async () => "never";
    await toolLoop({ messages: [], maxTokens: 1, tools: [], sample: model, run, ...loop, ...more, ...wishes });
    expect(asked[4]).toStrictEqual({ messages: [], maxTokens: 1, tools: [] });
  });

  it("for loadConfig, and for a configuration that openHost is given (T4)", async () => {
    const none: ConfigEnvironment & Nothing<ConfigEnvironment> = {
      env: undefined,
      inputs: undefined,
      onInput: undefined,
      workspaceFolder: undefined,
      userHome: undefined,
      pathSeparator: undefined,
      readText: undefined,
      lenient: undefined,
    };
    const folder = await mkdtemp(join(tmpdir(), "plugbay-undefined-"));
    const path = join(folder, "mcp.json");
    const variables = ["env:PATH", "pathSeparator", "userHome"].map((name) => `\${${name}}`).join("");
    const config = { mcpServers: { shop: { url: "http://127.0.0.1:9/", headers: { "x-all": variables } } } };
    await writeFile(path, JSON.stringify(config));
    const loaded = await loadConfig({ path, dialect: undefined }, none);
    expect(loaded).toEqual(await loadConfig(path));
    expect(loaded.problems).toEqual([]);
    await using host = await openHost(path, { environment: none, connect: "lazy" });
    expect(host.servers()).toMatchObject([{ name: "shop", state: "idle" }]);
    const headers = { "x-path": variables.slice(0, 11) };
    const given = { mcpServers: { shop: { url: "http://127.0.0.1:9/", headers } } };
    await using other = await openHost(given, { environment: none, connect: "lazy" });
    expect(other.servers()).toMatchObject([{ name: "shop", state: "idle" }]);
    await rm(folder, { recursive: true });
  });

  it("for the bridges, which offer no more tools than a provider takes (T4)", () => {
    const tools = Array.from({ length: 600 }, (_, index) => ({
      name: `t${index}`,
      inputSchema: { type: "object" as const },
    }));
    const none = { validate: undefined, maxDescriptionLength: undefined, maxTools: undefined };
    for (const bridge of [openaiChat, openaiResponses, gemini, anthropic, aiSdk]) {
      expect(bridge(tools, none).skipped).toEqual(bridge(tools).skipped);
    }
    expect(openaiChat(tools, { ...none, strict: undefined }).skipped.length).toBeGreaterThan(0);
    const options = { ...none, schema: undefined, skipSignatures: undefined };
    expect(gemini(tools, options).tools).toEqual(gemini(tools).tools);
  });

  it("for a server and what its handlers return (T4)", async () => {
    const described = { title: undefined, description: undefined, websiteUrl: undefined, icons: undefined };
    await using client = await connect(createServer({ name: "shop", version: "1", ...described }));
    expect(client.server.serverInfo).toStrictEqual({ name: "shop", version: "1" });
    const more = { title: undefined, description: undefined, mimeType: undefined, size: undefined };
    expect(resourceLink("a://b", "b", more)).toStrictEqual({ type: "resource_link", uri: "a://b", name: "b" });
  });
});
