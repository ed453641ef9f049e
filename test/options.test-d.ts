import { describe, expectTypeOf, it } from "vitest";
import type * as agent from "../src/agent/index.ts";
import type * as authClient from "../src/auth/node/client.ts";
import type * as authProxy from "../src/auth/node/proxy.ts";
import type * as authServer from "../src/auth/node/server.ts";
import type * as aiSdk from "../src/bridge/ai-sdk/index.ts";
import type * as anthropic from "../src/bridge/anthropic/index.ts";
import type * as gemini from "../src/bridge/gemini/index.ts";
import type * as openai from "../src/bridge/openai/index.ts";
import type * as catalog from "../src/catalog/index.ts";
import type * as config from "../src/config/index.ts";
import type * as client from "../src/connect/index.ts";
import type * as files from "../src/files/index.ts";
import type * as gateway from "../src/gateway/index.ts";
import type * as host from "../src/host/index.ts";
import type * as root from "../src/index.ts";
import type * as lock from "../src/lock/index.ts";
import type * as metrics from "../src/metrics/index.ts";
import type * as middleware from "../src/middleware/index.ts";
import type * as otel from "../src/otel/index.ts";
import type * as server from "../src/server/index.ts";
import type * as store from "../src/store/node/index.ts";
import type * as testing from "../src/testing/index.ts";
import type * as http from "../src/transport/node/http.ts";
import type * as stdio from "../src/transport/node/stdio.ts";
import type * as typegen from "../src/typegen/index.ts";

/** The optional members of a type that do not take `undefined`: programs that compile with `exactOptionalPropertyTypes` pass it. */
type Refusing<T> = T extends unknown ? { [K in keyof T]-?: RefusingKey<T, K> }[keyof T] : never;
type RefusingKey<T, K extends keyof T> =
  Record<never, never> extends Pick<T, K> ? (Record<K, undefined> extends Partial<Pick<T, K>> ? never : K) : never;

describe("budgets", () => {
  it("name only what is counted for each scope", () => {
    type Of<T> = keyof NonNullable<T>;
    type OfConnections =
      | "maxHeldBytes"
      | "maxRunningCalls"
      | "maxQueuedCalls"
      | "maxOpenRequests"
      | "maxStreams"
      | "maxSubscriptions";
    type OfPrincipals = OfConnections | "maxSessions" | "maxConnections" | "maxSignIns";
    expectTypeOf<Of<http.Budgets["connection"]>>().toEqualTypeOf<OfConnections>();
    expectTypeOf<Of<http.Budgets["principal"]>>().toEqualTypeOf<OfPrincipals>();
    expectTypeOf<Of<http.Budgets["process"]>>().toEqualTypeOf<OfPrincipals>();
    expectTypeOf<Of<stdio.ChannelBudgets["process"]>>().toEqualTypeOf<OfConnections>();
    expectTypeOf<http.HttpOptions["budgets"]>().toEqualTypeOf<http.Budgets | undefined>();
    expectTypeOf<stdio.ServeStdioOptions["budgets"]>().toEqualTypeOf<stdio.ChannelBudgets | undefined>();
    expectTypeOf<server.ServeChannelOptions["limits"]>().toEqualTypeOf<http.Limits | undefined>();
  });
});

describe("every option takes undefined", () => {
  it("finds the members that do not", () => {
    expectTypeOf<Refusing<{ a?: number; b?: number | undefined; c: number }>>().toEqualTypeOf<"a">();
    expectTypeOf<Refusing<{ a?: number } | { b?: number }>>().toEqualTypeOf<"a" | "b">();
  });

  it("of plugbay (T4)", () => {});

  it("of plugbay/files (T4)", () => {
    expectTypeOf<Parameters<typeof files.safePath>>().toEqualTypeOf<[folder: string, name: string]>();
  });

  it("of plugbay/server (T4)", () => {
    expectTypeOf<Refusing<server.ServerOptions>>().toBeNever();
    expectTypeOf<Refusing<server.TaskOptions>>().toBeNever();
    expectTypeOf<Refusing<server.ToolOptions<object, undefined, string>>>().toBeNever();
    expectTypeOf<Refusing<server.ResourceOptions<"a://b">>>().toBeNever();
    expectTypeOf<Refusing<server.PromptOptions<object>>>().toBeNever();
    expectTypeOf<Refusing<server.AskOptions>>().toBeNever();
    expectTypeOf<Refusing<server.AskUrlOptions>>().toBeNever();
    expectTypeOf<Refusing<server.ServeChannelOptions>>().toBeNever();
    expectTypeOf<Refusing<NonNullable<Parameters<typeof server.resourceLink>[2]>>>().toBeNever();
  });

  it("of plugbay/client (T4)", () => {
    expectTypeOf<Refusing<client.ConnectOptions>>().toBeNever();
    expectTypeOf<Refusing<NonNullable<client.ConnectOptions["info"]>>>().toBeNever();
    expectTypeOf<Refusing<client.ClientOptions>>().toBeNever();
    expectTypeOf<Refusing<client.QuestionHandlers>>().toBeNever();
    expectTypeOf<Refusing<client.CacheOptions>>().toBeNever();
    expectTypeOf<Refusing<client.CallOptions>>().toBeNever();
    expectTypeOf<Refusing<client.CachedCallOptions>>().toBeNever();
    expectTypeOf<Refusing<client.ToolCallOptions>>().toBeNever();
    expectTypeOf<Refusing<client.PagesOptions>>().toBeNever();
    expectTypeOf<Refusing<client.WatchOptions>>().toBeNever();
    expectTypeOf<Refusing<client.FollowOptions>>().toBeNever();
    expectTypeOf<Refusing<client.StartOptions>>().toBeNever();
    expectTypeOf<Refusing<client.ChangeKinds>>().toBeNever();
    expectTypeOf<Refusing<client.Command>>().toBeNever();
    expectTypeOf<Refusing<client.UrlEntry>>().toBeNever();
  });

  it("of plugbay/host (T4)", () => {
    expectTypeOf<Refusing<host.OpenHostOptions>>().toBeNever();
    expectTypeOf<Refusing<host.HostOptions>>().toBeNever();
    expectTypeOf<Refusing<NonNullable<host.HostOptions["info"]>>>().toBeNever();
    expectTypeOf<Refusing<host.HostQuestionHandlers>>().toBeNever();
    expectTypeOf<Refusing<NonNullable<host.HostQuestionHandlers["sampling"]>>>().toBeNever();
    expectTypeOf<Refusing<host.HostConnectOptions>>().toBeNever();
    expectTypeOf<Refusing<host.ServerSpec>>().toBeNever();
    expectTypeOf<Refusing<host.Trust>>().toBeNever();
    expectTypeOf<Refusing<host.ToolFilter>>().toBeNever();
    expectTypeOf<Refusing<host.PolicyRule>>().toBeNever();
    expectTypeOf<Refusing<host.PolicyHints>>().toBeNever();
    expectTypeOf<Refusing<host.RestartOptions>>().toBeNever();
    expectTypeOf<Refusing<host.ResultLimits>>().toBeNever();
    expectTypeOf<Refusing<host.HostListOptions>>().toBeNever();
    expectTypeOf<Refusing<host.ChangesOptions>>().toBeNever();
  });

  it("of plugbay/gateway (T4)", () => {
    expectTypeOf<Refusing<gateway.GatewayOptions>>().toBeNever();
    expectTypeOf<Refusing<gateway.BreakerOptions>>().toBeNever();
    expectTypeOf<Refusing<gateway.OpenApiOptions>>().toBeNever();
    expectTypeOf<Refusing<gateway.ServerFromModuleOptions>>().toBeNever();
    expectTypeOf<Refusing<gateway.GatewayRule>>().toBeNever();
    expectTypeOf<Refusing<gateway.RedactOptions>>().toBeNever();
  });

  it("of agents and catalogs (T4)", () => {
    expectTypeOf<Refusing<agent.RunToolsOptions>>().toBeNever();
    expectTypeOf<Refusing<agent.SamplerOptions<agent.ModelChoice>>>().toBeNever();
    expectTypeOf<Refusing<agent.ModelChoice>>().toBeNever();
    expectTypeOf<Refusing<catalog.SelectionPolicy>>().toBeNever();
    expectTypeOf<Refusing<catalog.SearchOptions>>().toBeNever();
  });

  it("of configurations, locks and generated types (T4)", () => {
    expectTypeOf<Refusing<config.ConfigEnvironment>>().toBeNever();
    expectTypeOf<Refusing<config.LoadConfigOptions>>().toBeNever();
    expectTypeOf<Refusing<config.WatchConfigOptions>>().toBeNever();
    expectTypeOf<Refusing<config.ParseConfigOptions>>().toBeNever();
    expectTypeOf<Refusing<NonNullable<Parameters<typeof config.parseConfigObject>[1]>>>().toBeNever();
    expectTypeOf<Refusing<NonNullable<Parameters<typeof config.findConfigFiles>[0]>>>().toBeNever();
    expectTypeOf<Refusing<Exclude<config.ConfigSource, string>>>().toBeNever();
    expectTypeOf<Refusing<config.ConfigFile>>().toBeNever();
    expectTypeOf<Refusing<lock.ServerSurface>>().toBeNever();
    expectTypeOf<Refusing<lock.ServerProgram>>().toBeNever();
    expectTypeOf<Refusing<typegen.GenerateTypesOptions>>().toBeNever();
    expectTypeOf<Refusing<typegen.ListedServer>>().toBeNever();
  });

  it("of plugbay/http and plugbay/stdio (T4)", () => {
    expectTypeOf<Refusing<http.HttpOptions>>().toBeNever();
    expectTypeOf<Refusing<http.ServeHttpOptions>>().toBeNever();
    expectTypeOf<Refusing<http.FetchHandlerOptions>>().toBeNever();
    expectTypeOf<Refusing<http.NodeHandlerOptions>>().toBeNever();
    expectTypeOf<Refusing<http.HealthOptions>>().toBeNever();
    expectTypeOf<Refusing<http.Limits>>().toBeNever();
    expectTypeOf<Refusing<http.Budgets>>().toBeNever();
    expectTypeOf<Refusing<http.ConnectionBudget>>().toBeNever();
    expectTypeOf<Refusing<http.EndpointBudget>>().toBeNever();
    expectTypeOf<Refusing<stdio.ChannelBudgets>>().toBeNever();
    expectTypeOf<Refusing<http.TlsOptions>>().toBeNever();
    expectTypeOf<Refusing<stdio.ServeStdioOptions>>().toBeNever();
  });

  it("of plugbay/bridge (T4)", () => {
    expectTypeOf<Refusing<aiSdk.AiSdkOptions>>().toBeNever();
    expectTypeOf<Refusing<aiSdk.ToolkitOptions>>().toBeNever();
    expectTypeOf<Refusing<anthropic.ToolkitOptions>>().toBeNever();
    expectTypeOf<Refusing<gemini.GeminiOptions>>().toBeNever();
    expectTypeOf<Refusing<gemini.ToolkitOptions>>().toBeNever();
    expectTypeOf<Refusing<openai.OpenAiOptions>>().toBeNever();
    expectTypeOf<Refusing<openai.ToolkitOptions>>().toBeNever();
  });

  it("of plugbay/otel and plugbay/metrics (T4)", () => {
    expectTypeOf<Refusing<otel.OtelOptions>>().toBeNever();
    expectTypeOf<Refusing<metrics.MetricsOptions>>().toBeNever();
  });

  it("of plugbay/middleware and plugbay/store (T4)", () => {
    expectTypeOf<Refusing<middleware.RateLimitOptions>>().toBeNever();
    expectTypeOf<Refusing<store.MemoryStoreOptions>>().toBeNever();
    expectTypeOf<Refusing<store.OpenStoreOptions>>().toBeNever();
    expectTypeOf<Refusing<store.PutOptions>>().toBeNever();
    expectTypeOf<Refusing<store.AppendOptions>>().toBeNever();
    expectTypeOf<Refusing<store.StoreListOptions>>().toBeNever();
    expectTypeOf<Refusing<store.WriteConditions>>().toBeNever();
  });

  it("of plugbay/auth/client (T4)", () => {
    expectTypeOf<Refusing<authClient.AuthorizerOptions>>().toBeNever();
    expectTypeOf<Refusing<authClient.OAuthOptions>>().toBeNever();
    expectTypeOf<Refusing<authClient.RegisteredClient>>().toBeNever();
    expectTypeOf<Refusing<authClient.ClientCredentialsOptions>>().toBeNever();
    expectTypeOf<Refusing<Extract<authClient.ClientKey, { pem: string }>>>().toBeNever();
    expectTypeOf<Refusing<authClient.TokenExchangeOptions>>().toBeNever();
    expectTypeOf<Refusing<authClient.JwtBearerOptions>>().toBeNever();
    expectTypeOf<Refusing<authClient.EnterpriseManagedOptions>>().toBeNever();
    expectTypeOf<Refusing<authClient.IdentityProvider>>().toBeNever();
    expectTypeOf<Refusing<authClient.StoreTokensOptions>>().toBeNever();
    expectTypeOf<Refusing<authClient.KeychainTokensOptions>>().toBeNever();
    expectTypeOf<Refusing<authClient.LoopbackRedirectOptions>>().toBeNever();
  });

  it("of plugbay/auth/server (T4)", () => {
    expectTypeOf<Refusing<authServer.TokenAuthOptions>>().toBeNever();
    expectTypeOf<Refusing<authServer.JwtOptions>>().toBeNever();
    expectTypeOf<Refusing<authServer.IntrospectionOptions>>().toBeNever();
    expectTypeOf<Refusing<authServer.DpopOptions>>().toBeNever();
    expectTypeOf<Refusing<authServer.ApiKeyOptions>>().toBeNever();
    expectTypeOf<Refusing<authServer.BasicOptions>>().toBeNever();
    expectTypeOf<Refusing<Exclude<authServer.HashedSecret, string>>>().toBeNever();
    expectTypeOf<Refusing<NonNullable<Parameters<typeof authServer.hashPassword>[1]>>>().toBeNever();
  });

  it("of plugbay/auth/proxy (T4)", () => {
    expectTypeOf<Refusing<authProxy.OAuthProxyOptions>>().toBeNever();
    expectTypeOf<Refusing<authProxy.OAuthProxyLimits>>().toBeNever();
    expectTypeOf<Refusing<authProxy.ProviderClientOptions>>().toBeNever();
    expectTypeOf<Refusing<authProxy.GithubOptions>>().toBeNever();
    expectTypeOf<Refusing<authProxy.EntraOptions>>().toBeNever();
    expectTypeOf<Refusing<authProxy.OidcOptions>>().toBeNever();
    expectTypeOf<Refusing<authProxy.IdentityProviderPreset>>().toBeNever();
  });

  it("of plugbay/testing (T4)", () => {
    expectTypeOf<Refusing<testing.MatrixOptions<root.ToolTypes>>>().toBeNever();
    expectTypeOf<Refusing<testing.RecordOptions>>().toBeNever();
    expectTypeOf<Refusing<NonNullable<Parameters<typeof testing.createMemoryChannels>[0]>>>().toBeNever();
  });
});
