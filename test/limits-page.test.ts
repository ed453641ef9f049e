import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { formerConnectOptions } from "../src/connect/connect-options.ts";
import { type HostBudget, programBudgets, serverBudgets } from "../src/host/host-budgets.ts";
import type { Budgets } from "../src/protocol/budget.ts";
import { type AllLimits, clientLimits, httpLimits, stdioLimits } from "../src/protocol/limits.ts";
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

  it("has a row for each place that a former option is sent to", () => {
    const places = Object.values({ ...formerHttpOptions, ...formerConnectOptions }).flatMap((place) =>
      place.split(" and "),
    );
    const rows = [...Object.keys(rowsOf("limit")), ...Object.keys(rowsOf("budget"))];
    const limits = places.filter((place) => !place.includes(" of "));
    expect(limits.map((place) => place.split(".").at(-1)).filter((name) => !rows.includes(name ?? ""))).toEqual([]);
  });
});
