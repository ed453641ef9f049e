import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { formerConnectOptions } from "../src/connect/connect-options.ts";
import { type HostBudget, programBudgets, serverBudgets } from "../src/host/host-budgets.ts";
import type { Budgets } from "../src/protocol/budget.ts";
import { type AllLimits, clientLimits, httpLimits, stdioLimits } from "../src/protocol/limits.ts";
import { serverBudgets as defaultBudgetsOfServers } from "../src/protocol/server-budgets.ts";
import { channelBudget } from "../src/transport/channel-bounds.ts";
import { httpBudgets } from "../src/transport/http/http-budgets.ts";
import { formerHttpOptions } from "../src/transport/http/options.ts";
import { root } from "./e2e/support/places.ts";

// docs/limits.md has a row for every limit and budget, with its defaults; and no other rows.

const page = readFileSync(join(root, "docs/limits.md"), "utf8");

/** The rows of the table with this column first, by the name in it: a number for each column, or nothing. */
function rowsOf(column: string): Readonly<Record<string, readonly (number | undefined)[]>> {
  const [, table = ""] = page.split(`| ${column} |`);
  const lines = table.split("\n\n")[0]?.split("\n").slice(2) ?? [];
  return Object.fromEntries(
    lines.map((line) => {
      const [, name = "", ...cells] = line.split("|").map((cell) => cell.trim());
      const numbers = cells.slice(0, -2).map((cell) => (cell === "" ? undefined : Number(cell.replaceAll(" ", ""))));
      return [name.replaceAll("`", ""), numbers];
    }),
  );
}

/** The default and the option of every row of the tables with these columns, by what it limits. */
const defaults = new Map(
  [...page.matchAll(/^\| ([^|]+) \| ([\d ]+)(?: characters)? \| ([^|]+) \|/gm)].map(
    ([, what = "", value = "", option = ""]) => [what, { value: Number(value.replaceAll(" ", "")), option }],
  ),
);

/** The number of a row, as its code writes it. */
function numberOf(code: string): number {
  const [number = 0, shift] = code
    .replaceAll("_", "")
    .split(" << ")
    .map((part) => {
      const factors = part.split(" * ").map(Number);
      return factors.reduce((product, factor) => product * factor, 1);
    });
  return number * 2 ** (shift ?? 0);
}

/** What a row limits, and where its default is. */
const sources: readonly (readonly [what: string, file: string, code: string])[] = [
  ["silence of a session", "src/transport/http/endpoint.ts", "options.sessionTtlMs ?? 1_800_000"],
  [
    "time until a client of a session sends `notifications/initialized`",
    "src/legacy/http/session-store.ts",
    "INITIALIZED_TIMEOUT_MS = 60_000",
  ],
  [
    "characters of the progress token of a task in a session",
    "src/legacy/http/session-store.ts",
    "MAX_TOKEN_CHARS = 1_024",
  ],
  ["time for the head of a request", "src/transport/node/serve-http.ts", "headersTimeout: 15_000"],
  ["time for a whole request", "src/transport/node/serve-http.ts", "requestTimeout: 60_000"],
  ["headers of a request", "src/transport/node/serve-http.ts", "maxHeadersCount = 100"],
  ["bytes of the head of a request", "src/transport/node/serve-http.ts", "maxHeaderSize: 16_384"],
  ["introspections that are open", "src/auth/server/introspection.ts", "maxInFlight = 64"],
  ["passwords that wait to be checked", "src/auth/server/basic.ts", "maxWaiting: 64"],
  ["used DPoP proofs that are remembered", "src/auth/server/dpop.ts", "MAX_PROOFS = 100_000"],
  ["clients that register in an hour", "src/auth/proxy/quota.ts", "limits.maxRegistrations ?? 2_000"],
  ["clients of one address that register in an hour", "src/auth/proxy/quota.ts", "maxRegistrationsPerAddress ?? 200"],
  ["sign-ins of one address in an hour", "src/auth/proxy/quota.ts", "maxSignInsPerAddress ?? 200"],
  [
    "calls of one caller that wait for approval",
    "src/gateway/gateway-rules.ts",
    "maxApprovalsPerCaller: principal = 16",
  ],
  ["calls of all callers that wait for approval", "src/gateway/gateway-rules.ts", "maxApprovals: process = 1_000"],
  ["connections of its own of one caller", "src/gateway/open-gateway.ts", "maxUpstreamSessionsPerCaller = 16"],
  ["connections of single callers", "src/gateway/open-gateway.ts", "maxUpstreamSessions = 1_024"],
  ["bytes of a response of an HTTP API", "src/openapi/open-api.ts", "maxResponseBytes = 4 << 20"],
  ["bytes of an OpenAPI document", "src/openapi/open-api.ts", "maxDocumentBytes = 8 << 20"],
  ["characters of the state of a caller or a session", "src/server/state.ts", "MAX_CHARS = 262_144"],
  ["commands that wait for Redis", "src/store/node/redis-store.ts", "maxWaiting = 10_000"],
  ["time for a user to [sign in](signing-in.md)", "src/auth/client/oauth.ts", "signInTimeoutMs = 300_000"],
  ["answer of a legacy client", "src/server/server.ts", "options.askTimeoutMs ?? 600_000"],
  ["answer of a modern client", "src/server/question-runs.ts", "askTimeoutMs = 600_000"],
  ["time for open calls after EOF", "src/transport/node/serve-stdio.ts", "drainMs = 5_000"],
  ["what keeps the process alive after the end", "src/transport/node/serve-stdio.ts", "GRACE_MS = 1_000"],
  ["all of connecting", "src/connect/create-connect.ts", "connectTimeoutMs: timeoutMs = 30_000"],
  ["calls that wait", "src/client/client.ts", "maxQueuedCalls = 10_000"],
  ["pages to open that are not completed", "src/client/elicitation.ts", "maxPendingPages = 100"],
  ["notifications of one client that run or wait", "src/transport/answer-call.ts", "maxNotifications = 64"],
  ["servers being connected to at once", "src/host/host.ts", "maxConnecting = 8"],
  ["wait of a list for one server", "src/host/host.ts", "options.listTimeoutMs ?? 5_000"],
  ["characters of a result", "src/host/results.ts", "maxChars = 262_144"],
  ["characters that a large result begins with instead", "src/host/results.ts", "previewChars = 4_000"],
  ["characters of a page of a large result", "src/host/results.ts", "pageChars = 32_768"],
  ["time that pages of large results are kept", "src/host/results.ts", "keepMs = 600_000"],
  ["characters of all pages that are kept", "src/host/results.ts", "maxKeptChars = 64 * 1024 * 1024"],
  ["unread events", "src/host/host.ts", "maxUnread = 4096"],
  ["turns of `runTools`", "src/bridge/tool-loop.ts", "maxTurns = 10"],
  ["calls of `runTools`", "src/agent/run-tools.ts", "maxCalls = 100"],
  ["tools of one turn that run", "src/agent/run-tools.ts", "maxParallel = 8"],
  ["characters of a config file", "src/config/tree.ts", "maxTextLength: 1_048_576"],
  ["characters of a config file in YAML", "src/config/tree.ts", "maxYamlLength: 262_144"],
  ["servers in a config file", "src/config/tree.ts", "maxServers: 1_000"],
];

describe("docs/limits.md", () => {
  it("has every limit with its defaults, and no other", () => {
    const ofClients: readonly (keyof AllLimits)[] = ["maxMessageBytes", "maxJsonDepth", "maxJsonNodes"];
    const names = Object.keys(httpLimits) as (keyof AllLimits)[];
    const expected = names.map((name) => {
      const client = ofClients.includes(name) ? clientLimits[name] : undefined;
      return [name, [httpLimits[name], stdioLimits[name], client]];
    });
    expect(rowsOf("limit")).toEqual(Object.fromEntries(expected));
  });

  it("has every budget with its defaults, and no other", () => {
    const { connection = {}, principal = {}, process = {} }: Budgets = httpBudgets(httpLimits);
    const shares: Readonly<Record<string, number>>[] = [connection, principal, process, channelBudget].map((share) =>
      Object.fromEntries(Object.entries(share).map(([name, limit]) => [name, Number(limit)])),
    );
    const names = [...new Set(shares.flatMap((share) => Object.keys(share)))];
    const expected = names.map((name) => [name, shares.map((share) => share[name])]);
    expect(rowsOf("budget")).toEqual(Object.fromEntries(expected));
  });

  it("has every share of the callers of a host with its defaults, and no other", () => {
    const shares = [serverBudgets, programBudgets].flatMap(({ principal = {}, process = {} }) => [principal, process]);
    const names = Object.keys(serverBudgets.principal ?? {}) as (keyof HostBudget)[];
    const expected = names.map((name) => [name, shares.map((share) => share[name])]);
    expect(rowsOf("share of a server")).toEqual(Object.fromEntries(expected));
  });

  it("has the shares of a server with their defaults", () => {
    const { principal = {}, process = {} } = defaultBudgetsOfServers;
    const shares = [principal, process].flatMap((share) => [share.maxParkedCalls, share.maxTasks, share.maxHeldBytes]);
    const names = [principal, process].flatMap((_, at) =>
      ["maxParkedCalls", "maxTasks", "maxHeldBytes"].map((name) => `budgets.${["principal", "process"][at]}.${name}`),
    );
    const told = names.map(
      (name) => [...defaults.values()].find(({ option }) => option.includes(`\`${name}\``))?.value,
    );
    expect(told).toEqual(shares);
  });

  it.each(sources)("says what the code says: %s", (what, file, code) => {
    const text = readFileSync(join(root, file), "utf8");
    expect(text).toContain(code);
    const [, number = ""] = /(?:[=:?({]|\?\?) ?([\d_]+(?: (?:\*|<<) \d+)*)/.exec(code) ?? [];
    expect(defaults.get(what)?.value).toBe(numberOf(number));
  });

  it("says where every bound of other pages is in the code", () => {
    const [, table = ""] = page.split("| bound | default |");
    const whats = [...(table.split("\n\n")[0] ?? "").matchAll(/^\| ([^|]+) \|/gm)].map(([, what]) => what);
    expect(whats.length).toBeGreaterThan(20);
    expect(whats.filter((what) => !sources.some(([known]) => known === what))).toEqual([]);
  });

  it("has a row for each place that a former option is sent to", () => {
    const places = Object.values({ ...formerHttpOptions, ...formerConnectOptions }).flatMap((place) =>
      place.split(" and "),
    );
    const rows = [...Object.keys(rowsOf("limit")), ...Object.keys(rowsOf("budget"))];
    const limits = places.filter((place) => !place.includes(" of "));
    expect(limits.map((place) => place.split(".").at(-1)).filter((name) => !rows.includes(name ?? ""))).toEqual([]);
  });
});
