import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createHome, type Ended, plugbay } from "../cli/support/cli.ts";
import { type Program, root, script } from "../e2e/support/places.ts";
import { run, start } from "../e2e/support/run.ts";
import { isNotBuilt } from "./not-built.ts";
import { allServerScenarios, type Requirements, requirementsOf, revisions, sizes } from "./requirements.ts";
import { type Check, problemsOf, type Results, readResults } from "./results.ts";
import { count, replaceTable, type Totals, tableIn, toTable } from "./totals.ts";

// The official conformance suite against our everything server, and our everything
// client against the suite. Run with UPDATE_GOLDEN=1 to write the totals into the page anew.

const UNAVAILABLE = 69;
const page = join(root, "docs", "conformance.md");
const totals: Totals[] = [];

const suite = (...args: readonly string[]): Program => script("test/conformance/suite.mjs", ...args);

/** The release that the registry gives by default, 0.1.16. */
const defaultSuite = (...args: readonly string[]): Program => suite("--default", ...args);

/** The command, in the folder where the suite is installed. */
const conform = (...args: readonly string[]): Promise<Ended> =>
  plugbay({ ...createHome(), folder: join(root, "test/conformance") }, ["conform", ...args]);

/** In that release, the metadata of this scenario names another issuer than its place, which RFC 8414 tells clients to refuse. */
const refused = "auth/2025-03-26-oauth-metadata-backcompat";

/** Installs the suite. False when there is no network to do so. */
async function install(): Promise<boolean> {
  const { code, stderr } = await run(suite());
  if (code !== 0 && code !== UNAVAILABLE) throw new Error(stderr);
  return code === 0;
}

describe("the suite", () => {
  it("has a lock file without download addresses", () => {
    expect(readFileSync(join(root, "test/conformance/package-lock.json"), "utf8")).not.toContain('"resolved"');
  });
});

/** The scenarios of the default release. */
async function listDefault(): Promise<Readonly<Record<"server" | "client", readonly string[]>>> {
  const { stdout } = await run(defaultSuite("list"));
  const [server = "", client = ""] = stdout.split("Client scenarios");
  const namesIn = (text: string): readonly string[] =>
    [...text.matchAll(/^ {2}- (\S+)/gm)].map(([, name = ""]) => name);
  return { server: namesIn(server), client: namesIn(client).filter((name) => name !== refused) };
}

if (await install()) {
  const scenarios = await listDefault();

  describe.each(revisions)("a server of %s", (revision) => {
    const required = requirementsOf(revision, "server");
    let results: Results = new Map();

    beforeAll(async () => {
      results = await testServer(runNewest, "--timeout", "120000", "--requirements", revision);
      totals.push(count(`server, ${revision}`, required, results));
    }, 300_000);

    it("was tested with the whole set", () => {
      expect(required.scored).toHaveLength(sizes.server[revision]);
      expect([...results.keys()].toSorted()).toEqual([...required.scored, ...required.unscored].toSorted());
    });

    it.each(built(required))("passes %s", (scenario) => {
      expect(problemsOf(results.get(scenario))).toEqual([]);
    });
  });

  describe("a server", () => {
    it("passes every scenario there is, of what is built", async () => {
      const results = await testServer(runNewest, "--timeout", "120000", "--suite", "all");
      totals.push(count("server, all", { scored: [], unscored: [...results.keys()] }, results));
      expect(results.size).toBe(allServerScenarios);
      const failed = [...results].filter(([name, checks]) => !isNotBuilt(name) && problemsOf(checks).length > 0);
      expect(failed.map(([name, checks]) => [name, problemsOf(checks)])).toEqual([]);
    }, 300_000);
  });

  // What a gateway does for callers that know no tasks, the scenarios of that extension do not expect; they are not scored.
  describe.each(revisions)("a gateway in front of a server of %s", (revision) => {
    const { scored } = requirementsOf(revision, "server");
    let results: Results = new Map();

    beforeAll(async () => {
      const behind = script("test/fixtures/everything-gateway.mjs");
      results = await testServerOf(behind, runNewest, "--timeout", "120000", "--requirements", revision);
    }, 300_000);

    it.each(scored)("passes %s", (scenario) => {
      expect(problemsOf(results.get(scenario))).toEqual([]);
    });
  });

  describe.each(revisions)("a client of %s", (revision) => {
    const required = requirementsOf(revision, "client");
    const results = new Map<string, readonly Check[]>();

    afterAll(() => {
      totals.push(count(`client, ${revision}`, required, results));
    });

    it("is tested with the whole set", () => {
      expect(required.scored).toHaveLength(sizes.client[revision]);
    });

    for (const scenario of built(required)) {
      it.concurrent(`passes ${scenario}`, async () => {
        const checks = await testClient(runNewest, scenario, ...inRevision(revision));
        results.set(scenario, checks);
        expect(problemsOf(checks)).toEqual([]);
      }, 150_000);
    }
  });

  describe("a client of 2025-03-26", () => {
    it.each(["auth/2025-03-26-oauth-metadata-backcompat", "auth/2025-03-26-oauth-endpoint-fallback"])(
      "passes %s",
      async (scenario) => {
        expect(problemsOf(await testClient(runNewest, scenario, ...inRevision("2025-03-26")))).toEqual([]);
      },
      150_000,
    );
  });

  describe("the release that is the default of the registry", () => {
    const results = new Map<string, readonly Check[]>();

    it("has the scenarios that are known", () => {
      expect([scenarios.server.length, scenarios.client.length]).toEqual([32, 25]);
    });

    it("finds a server that passes every scenario", async () => {
      const found = await testServer(runDefault, "--suite", "all");
      totals.push(count("server, release 0.1.16", { scored: scenarios.server, unscored: [] }, found));
      const failed = scenarios.server.filter((scenario) => problemsOf(found.get(scenario)).length > 0);
      expect(failed.map((scenario) => [scenario, problemsOf(found.get(scenario))])).toEqual([]);
    }, 300_000);

    for (const scenario of scenarios.client) {
      it.concurrent(`finds a client that passes ${scenario}`, async () => {
        const checks = await testClient(runDefault, scenario);
        results.set(scenario, checks);
        expect(problemsOf(checks)).toEqual([]);
      }, 150_000);
    }

    afterAll(() => {
      totals.push(count("client, release 0.1.16", { scored: scenarios.client, unscored: [] }, results));
    });
  });

  describe("plugbay conform", () => {
    it("runs what a revision requires against a program, and ends with 0", async () => {
      const program = script("test/fixtures/everything-server.mjs", "--stdio");
      const ended = await conform("--requires", "2026-07-28", "--json", "--", program.command, ...program.args);
      expect(ended).toMatchObject({ code: 0, stderr: "" });
      const told = JSON.parse(ended.stdout) as { readonly scenarios: readonly { readonly required: boolean }[] };
      expect(told).toMatchObject({ suite: "0.2.0-alpha.12", conforms: true });
      expect(told.scenarios.filter(({ required }) => required)).toHaveLength(sizes.server["2026-07-28"]);
    }, 300_000);

    it("ends with 1 and names the scenarios that fail", async () => {
      const shop = join(root, "test/fixtures/children/shop-server.mjs");
      const named = ["--scenario", "tools-list", "--scenario", "tools-call-simple-text"];
      const { code, stdout } = await conform(...named, "--", process.execPath, shop);
      expect(code).toBe(1);
      expect(stdout).toMatch(/^passed +tools-list/m);
      expect(stdout).toMatch(/^failed +tools-call-simple-text +.*test_simple_text/m);
    }, 60_000);
  });

  describe("the totals", () => {
    it("are those of docs/conformance.md", () => {
      const table = toTable(totals);
      console.log(`\n${table}`);
      if (process.env.UPDATE_GOLDEN === "1") writeFileSync(page, replaceTable(readFileSync(page, "utf8"), table));
      expect(table).toBe(tableIn(readFileSync(page, "utf8")));
    });
  });
} else {
  const name = "the conformance suite passes: it is not installed, and there is no network";
  console.warn(`skipped: ${name}`);
  it.skip(name);
}

function built({ scored, unscored }: Requirements): readonly string[] {
  return [...scored, ...unscored].filter((scenario) => !isNotBuilt(scenario));
}

/** Tests a fresh everything server. Scenarios follow each other. */
function testServer(run: typeof runNewest, ...selection: readonly string[]): Promise<Results> {
  return testServerOf(script("test/fixtures/everything-server.mjs", "--port", "0"), run, ...selection);
}

async function testServerOf(
  program: Program,
  run: typeof runNewest,
  ...selection: readonly string[]
): Promise<Results> {
  const { child, ended } = await start(program);
  try {
    const lines = createInterface(child.stderr);
    const [line] = await Promise.race([once(lines, "line"), once(lines, "close")]);
    const url = /^listening on (\S+)$/.exec(line)?.[1];
    if (url === undefined) throw new Error(`the server does not listen: ${line}`);
    const { results } = await run("server", "--url", url, ...selection);
    return results;
  } finally {
    child.kill();
    await ended;
  }
}

/** Has the suite start the everything client. One scenario at a time, so that it tells how the client ended. */
async function testClient(
  run: typeof runNewest,
  scenario: string,
  ...selection: readonly string[]
): Promise<readonly Check[]> {
  const command = `"${process.execPath}" "${join(root, "test/fixtures/everything-client.mjs")}"`;
  const options = ["--command", command, "--scenario", scenario, "--timeout", "120000"];
  const { results, output } = await run("client", ...options, ...selection);
  const complaint = /^Client (timed out|exited with code).*/ms.exec(output)?.[0].split("\nResults saved")[0];
  const ending: Check = { id: "ends-well", status: "FAILURE", errorMessage: complaint ?? "" };
  return [...(results.get(scenario) ?? []), ...(complaint === undefined ? [] : [ending])];
}

/** Scenarios of extensions belong to no revision, so that the suite has to be urged. */
function inRevision(revision: string): readonly string[] {
  return ["--spec-version", revision, "--force"];
}

interface SuiteRun {
  readonly results: Results;
  readonly output: string;
}

function runNewest(...args: readonly string[]): Promise<SuiteRun> {
  return runSuite(suite, args);
}

function runDefault(...args: readonly string[]): Promise<SuiteRun> {
  return runSuite(defaultSuite, args);
}

/** Runs the suite and gives what it found and said. Rejects when it found nothing at all. */
async function runSuite(release: typeof suite, args: readonly string[]): Promise<SuiteRun> {
  const folder = mkdtempSync(join(tmpdir(), "plugbay-conformance-"));
  try {
    const { stdout, stderr } = await run(release(...args, "-o", folder));
    const [results, output] = [readResults(folder), stderr + stdout];
    if (results.size === 0) throw new Error(`the suite has tested nothing: ${output}`);
    return { results, output };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
