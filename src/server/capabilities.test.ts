import { describe, expect, it } from "vitest";
import { complete, failureOf, send, sendAny } from "../../test/support/direct.ts";
import type { ServerCapabilities } from "../protocol/peer.ts";
import type { ServerOptions } from "./options.ts";
import { prompt } from "./prompt.ts";
import { resource } from "./resource.ts";
import { createServer } from "./server.ts";
import { tool } from "./tool.ts";

const info = { name: "shop", version: "1" };
const read = () => "";
const complete_ = { x: () => [] };

async function capabilitiesOf(options: Partial<ServerOptions>): Promise<ServerCapabilities> {
  return (await complete(createServer({ ...info, ...options }), "server/discover", {})).capabilities;
}

const groups: readonly [
  name: "tools" | "prompts" | "resources",
  options: Partial<ServerOptions>,
  empty: Partial<ServerOptions>,
][] = [
  ["tools", { tools: { t: tool({ run: read }) } }, { tools: {} }],
  ["prompts", { prompts: { p: prompt({ get: read }) } }, { prompts: {} }],
  ["resources", { resources: [resource("a://b", { read })] }, { resources: [] }],
];

describe("C45: what is advertised", () => {
  it("is nothing for an empty server", async () => {
    const all = { listChanged: true, subscribe: true };
    expect(await capabilitiesOf({})).toStrictEqual({});
    expect(await capabilitiesOf(all)).toStrictEqual({});
  });

  it("is a group that has a member, in every combination", async () => {
    for (let mask = 0; mask < 2 ** groups.length; mask++) {
      const chosen = groups.filter((_, bit) => mask & (1 << bit));
      const options = Object.assign({}, ...chosen.map(([, member]) => member));
      const plain = Object.fromEntries(chosen.map(([name]) => [name, {}]));
      const changing = Object.fromEntries(chosen.map(([name]) => [name, { listChanged: true }]));
      expect(await capabilitiesOf(options)).toStrictEqual(plain);
      expect(await capabilitiesOf({ ...options, listChanged: true })).toStrictEqual(changing);
    }
  });

  it.each(groups)("is %s when the option is there, also without a member", async (name, _, empty) => {
    expect(await capabilitiesOf(empty)).toStrictEqual({ [name]: {} });
  });

  it("is resources for a template alone", async () => {
    expect(await capabilitiesOf({ resources: [resource("a://{x}", { read })] })).toStrictEqual({ resources: {} });
  });

  it.each([
    [{}, {}],
    [{ subscribe: true }, { subscribe: true }],
    [
      { listChanged: true, subscribe: true },
      { listChanged: true, subscribe: true },
    ],
    [{ listChanged: false, subscribe: false }, {}],
  ])("is for resources with %j: %j", async (options, resources) => {
    expect(await capabilitiesOf({ ...options, resources: [] })).toStrictEqual({ resources });
  });

  it.each<[string, Partial<ServerOptions>, boolean]>([
    ["a prompt with completers", { prompts: { p: prompt({ get: read, complete: complete_ }) } }, true],
    ["a template with completers", { resources: [resource("a://{x}", { read, complete: complete_ })] }, true],
    ["a prompt without", { prompts: { p: prompt({ get: read }) } }, false],
    ["a resource that is no template", { resources: [resource("a://b", { read, complete: complete_ })] }, false],
  ])("are completions for %s: %s", async (_, options, advertised) => {
    expect("completions" in (await capabilitiesOf(options))).toBe(advertised);
  });

  it.each([
    [true, { logging: {} }],
    [false, {}],
  ])("is logging when it is %s", async (logging, expected) => {
    expect(await capabilitiesOf({ logging })).toStrictEqual(expected);
  });

  it("is what the author adds", async () => {
    const more = { experimental: { a: {} }, extensions: { "acme/x": { y: 1 } } };
    expect(await capabilitiesOf(more)).toStrictEqual(more);
  });

  it("grows with the first member, and stays when the last one goes", async () => {
    const server = createServer({ ...info, listChanged: true });
    const capabilities = async () => (await complete(server, "server/discover", {})).capabilities;
    server.tools.add("t", tool({ run: read }));
    expect(await capabilities()).toStrictEqual({ tools: { listChanged: true } });
    server.prompts.add("p", prompt({ get: read, complete: complete_ }));
    server.resources.add(resource("a://b", { read }));
    expect(Object.keys(await capabilities())).toEqual(["tools", "prompts", "resources", "completions"]);
    server.tools.remove("t");
    server.prompts.remove("p");
    server.resources.remove("a://b");
    expect(Object.keys(await capabilities())).toEqual(["tools", "prompts", "resources"]);
    expect((await complete(server, "tools/list", {})).tools).toEqual([]);
  });
});

describe("C48: a method of a group that is not advertised does not exist", () => {
  const server = createServer(info);

  it.each([
    "tools/list",
    "tools/call",
    "prompts/list",
    "prompts/get",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "completion/complete",
    "logging/setLevel",
    "resources/subscribe",
    "x/y",
    "__proto__",
    "constructor",
    "",
  ])("%j", async (method) => {
    const failure = { code: "method-not-found", message: `unknown method ${method}` };
    expect(failureOf(await sendAny(server, method))).toStrictEqual(failure);
  });

  it.each(groups)("%s begins to exist with the first member", async (name) => {
    const growing = createServer(info);
    growing.tools.add("t", tool({ run: read }));
    growing.prompts.add("p", prompt({ get: read }));
    growing.resources.add(resource("a://b", { read }));
    expect((await send(growing, `${name}/list`, {})).kind).toBe("complete");
  });
});
