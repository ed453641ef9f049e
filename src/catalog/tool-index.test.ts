import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../json/json.ts";
import type { CatalogTool } from "./sort-tools.ts";
import { createToolIndex, indexBy, stemOf } from "./tool-index.ts";

/** `server:name(argument, …): description`. */
function toolOf(line: string): CatalogTool {
  const [, server = "", name = "", args = "", description = ""] =
    /^(\w+):([\w.-]+)(?:\((.*?)\))?: (.*)$/.exec(line) ?? [];
  const names = args.split(", ").filter((arg) => arg !== "");
  const properties: JsonObject = Object.fromEntries(names.map((arg) => [arg, { type: "string" }]));
  return { server, tool: { name, description, inputSchema: { type: "object", properties } } };
}

const catalog = [
  "forge:create_issue(repo, title, body): Open a new issue in a repository.",
  "forge:list_issues(repo, state): List the issues of a repository, newest first.",
  "forge:close_issue(repo, number): Close an issue that has been dealt with.",
  "forge:createPullRequest(repo, head, base): Propose changes of one branch to another.",
  "forge:mergePullRequest(repo, number): Merge a proposal into its target branch.",
  "forge:list_branches(repo): All branches of a repository.",
  "forge:delete_branch(repo, branch): Remove a branch.",
  "forge:search_code(query): Find text in source files.",
  "forge:get_job_logs(run): The output of a build job, such as one that failed.",
  "disk:read_file(path): Read a text file.",
  "disk:write_file(path, content): Write text to a file, and replace what is there.",
  "disk:move_file(from, to): Move or rename a file.",
  "disk:make_directory(path): Create a folder.",
  "disk:list_directory(path): What is in a folder.",
  "mail:sendMessage(recipient, subject, body): Send an e-mail.",
  "mail:search_messages(query): Look through the mailbox.",
  "mail:create_filter(rule): Sort incoming mail by a rule.",
  "calendar:create_event(start, attendees): Put an appointment in the calendar.",
  "calendar:find_free_slot(attendees): When everybody has time for a meeting.",
  "calendar:cancel_event(id): Call off an appointment and tell the guests.",
  "shop:place_order(sku, quantity): Buy something.",
  "shop:track-order(order): Where a parcel is.",
  "shop:refund.payment(order): Give the money back.",
  "shop:list_products(category): What is for sale.",
  "crm:find_customer(email): Look up a customer by mail address.",
  "crm:update_customer(id, phone): Change the record of a customer.",
  "crm:export_customers(format): All customers as a spreadsheet.",
  "geo:geocode(address): Coordinates of an address.",
  "geo:directions(origin, destination): The route between two places.",
  "weather:forecast(city, days): Temperature and rain for the next days.",
].map(toolOf);

/** What somebody asks, and the tool that is meant. */
const questions: readonly (readonly [string, string])[] = [
  ["create an issue", "create_issue"],
  ["listing issues", "list_issues"],
  ["open issues in a repo", "list_issues"],
  ["closing an issue", "close_issue"],
  ["create pull request", "createPullRequest"],
  ["merging pull requests", "mergePullRequest"],
  ["merged", "mergePullRequest"],
  ["branches", "list_branches"],
  ["deleting branches", "delete_branch"],
  ["search source code", "search_code"],
  ["logs of failed jobs", "get_job_logs"],
  ["reading files", "read_file"],
  ["write file", "write_file"],
  ["renaming files", "move_file"],
  ["create folders", "make_directory"],
  ["list a directory", "list_directory"],
  ["send message", "sendMessage"],
  ["sending messages", "sendMessage"],
  ["searching mail messages", "search_messages"],
  ["filtering mails", "create_filter"],
  ["create calendar event", "create_event"],
  ["free slots", "find_free_slot"],
  ["cancelled events", "cancel_event"],
  ["buying something", "place_order"],
  ["placing orders", "place_order"],
  ["tracking parcels", "track-order"],
  ["refunded payments", "refund.payment"],
  ["products for sale", "list_products"],
  ["find a customer", "find_customer"],
  ["updating customers", "update_customer"],
  ["exporting customers", "export_customers"],
  ["geocoding addresses", "geocode"],
  ["route", "directions"],
  ["forecasts for a city", "forecast"],
];

/** How many questions have the right tool in the first `place` places. */
function found(stem: (word: string) => string, place: number): number {
  const index = indexBy(stem, catalog);
  return questions.filter(([query, name]) =>
    index.search(query, { limit: place }).some(({ tool }) => tool.name === name),
  ).length;
}

const namesOf = (query: string, limit?: number) =>
  createToolIndex(catalog)
    .search(query, limit === undefined ? {} : { limit })
    .map(({ name }) => name);

describe("createToolIndex", () => {
  it("finds what is meant", () => {
    expect(found(stemOf, 1)).toBeGreaterThanOrEqual(31);
    expect(found(stemOf, 3)).toBe(questions.length);
  });

  it("finds more by stems than by whole words", () => {
    const whole = (word: string) => word;
    expect(found(stemOf, 1)).toBeGreaterThan(found(whole, 1));
    expect(found(stemOf, 3)).toBeGreaterThan(found(whole, 3));
  });

  it("completes the last word, and only that", () => {
    expect(namesOf("forec")).toEqual(["weather:forecast"]);
    expect(namesOf("send mess", 1)).toEqual(["mail:sendMessage"]);
    expect(namesOf("forec xyz")).toEqual([]);
  });

  it("knows servers, arguments and titles", () => {
    expect(namesOf("weather")).toEqual(["weather:forecast"]);
    expect(namesOf("sku")).toEqual(["shop:place_order"]);
    const titled = { server: "a", tool: { name: "x", title: "Fly a kite", inputSchema: { type: "object" } } };
    expect(createToolIndex([titled]).search("kites")).toHaveLength(1);
  });

  it("reads arguments of arguments, within bounds", () => {
    const deep = (levels: number): JsonObject =>
      levels === 0 ? { description: "Zanzibar" } : { anyOf: [{ items: { properties: { a: deep(levels - 1) } } }] };
    const search = (inputSchema: JsonObject) =>
      createToolIndex([{ server: "s", tool: { name: "x", inputSchema } }]).search("zanzibar").length;
    expect(search({ properties: { a: { properties: { b: { description: "Zanzibar" } } } } })).toBe(1);
    expect(search(deep(1))).toBe(1);
    expect(search(deep(20))).toBe(0);
    const many = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`p${index}`, {}]));
    expect(search({ properties: { ...many, z: { description: "Zanzibar" } } })).toBe(0);
  });

  it("stays with one server when told to", () => {
    const hits = createToolIndex(catalog).search("list", { server: "disk", limit: 50 });
    expect(hits.map(({ name }) => name)).toEqual(["disk:list_directory"]);
  });

  it("puts equals in the order they were given in", () => {
    const twins = ["b", "a", "c"].map((server) => toolOf(`${server}:copy: Copies.`));
    const order = createToolIndex(twins)
      .search("copies")
      .map(({ server }) => server);
    expect(order).toEqual(["b", "a", "c"]);
  });

  it("finds nothing in nothing", () => {
    expect(createToolIndex([]).search("x")).toEqual([]);
    expect(namesOf("")).toEqual([]);
    expect(namesOf("?!")).toEqual([]);
    expect(namesOf("create", 0)).toEqual([]);
    expect(namesOf("create", -1)).toEqual([]);
    expect(namesOf("constructor __proto__")).toEqual([]);
  });

  it("gives 5 hits unless told otherwise, the best first", () => {
    const hits = createToolIndex(catalog).search("list find create file");
    expect(hits).toHaveLength(5);
    expect(hits.map(({ score }) => score)).toEqual(hits.map(({ score }) => score).toSorted((a, b) => b - a));
  });

  it("keeps to what it was given, whatever becomes of the list", () => {
    const list = [...catalog];
    const index = createToolIndex(list);
    list.length = 0;
    expect(index.search("forecast")).toHaveLength(1);
  });

  it("finds any tool by its own name, and answers the same every time", () => {
    const name = fc.stringMatching(/^[a-z]{3,8}(_[a-z]{3,8}){0,2}$/);
    fc.assert(
      fc.property(fc.uniqueArray(name, { minLength: 1, maxLength: 20 }), fc.nat(), (names, pick) => {
        const tools = names.map((each) => toolOf(`s:${each}: `));
        const wanted = names[pick % names.length] ?? "";
        const hits = createToolIndex(tools).search(wanted, { limit: 20 });
        expect(hits.map(({ tool }) => tool.name)).toContain(wanted);
        expect(createToolIndex(tools).search(wanted, { limit: 20 })).toEqual(hits);
      }),
    );
  });
});

describe("the work of an index", () => {
  /** Counts how often the description of a tool is read. */
  function watched(count: number) {
    let reads = 0;
    const tools = Array.from({ length: count }, (_, index): CatalogTool => {
      const tool = {
        name: `tool_${index}`,
        inputSchema: { type: "object" },
        get description() {
          reads++;
          return `Does thing ${index} with every thing there is.`;
        },
      };
      return { server: `server${index % 50}`, tool };
    });
    return { tools, reads: () => reads };
  }

  it("grows by a tool at a time, and questions read no tool again", () => {
    const { tools, reads } = watched(5000);
    const index = createToolIndex(tools);
    const built = reads();
    expect(built).toBeLessThanOrEqual(2 * 5000);
    expect(index.search("thing 4711", { limit: 1 })[0]?.tool.name).toBe("tool_4711");
    expect(reads()).toBe(built);
  });

  it("has a bound for questions of any length", () => {
    const words = (count: number) => Array.from({ length: count }, (_, index) => `w${index}`).join(" ");
    const late = [toolOf("s:w31: x"), toolOf("s:w40: x"), toolOf("s:zzz: x")];
    const search = (query: string) =>
      createToolIndex(late)
        .search(query)
        .map(({ tool }) => tool.name);
    expect(search(words(100))).toEqual(["w31"]);
    expect(search(`${"?".repeat(1000)} zzz`)).toEqual([]);
  });
});
