import { afterAll, describe, expect, it, vi } from "vitest";
import type { JsonObject } from "../../src/json/json.ts";
import { everythingHere, serveHttp } from "./support/built.ts";
import { listed, plainTools } from "./support/expected.ts";
import { everything, installed, type Program } from "./support/places.ts";
import { run } from "./support/run.ts";

// The command line of the official inspector against our server. It is started
// anew for every question, so the questions are put at the same time, and on a busy
// machine each takes as long as all of them.

vi.setConfig({ testTimeout: 180_000 });

const serving = await serveHttp(await everythingHere(), { port: 0, sse: true });
afterAll(() => serving.close());

/** Where the server is, in the words of the inspector, and the eras it is asked in. */
const targets = [
  { way: "stdio", target: [everything.command, ...everything.args], eras: ["legacy", "auto", "modern"] },
  { way: "HTTP", target: [serving.url], eras: ["legacy", "auto", "modern"] },
  { way: "HTTP+SSE", target: [new URL("/sse", serving.url).href, "--transport", "sse"], eras: ["legacy"] },
];
const ways = targets.flatMap(({ way, target, eras }) =>
  eras.map((era) => ({ way, era, to: [...target, "--protocol-era", era] })),
);

function inspect(to: readonly string[], ...args: readonly string[]): Program {
  return installed("mcp-inspector", "--cli", ...to, "--method", ...args);
}

/** Runs the inspector and gives what it prints, once it has ended well. */
async function ask(to: readonly string[], ...args: readonly string[]): Promise<JsonObject> {
  const { code, stdout, stderr } = await run(inspect(to, ...args));
  if (code !== 0) throw new Error(`the inspector ended with ${code}: ${stderr}`);
  return JSON.parse(stdout);
}

const named = (names: readonly string[]) =>
  expect.arrayContaining(names.map((name) => expect.objectContaining({ name })));

describe.concurrent.each(ways)("the inspector, $era, over $way", ({ to }) => {
  it("lists tools", async ({ expect }) => {
    const { tools } = await ask(to, "tools/list");
    expect(tools).toEqual(named([...plainTools.map(([name]) => name), "add"]));
  });

  it("calls a tool", async ({ expect }) => {
    const answer = await ask(to, "tools/call", "--tool-name", "add", "--tool-arg", "a=1", "b=2");
    expect(answer).toMatchObject({ content: [{ type: "text", text: '{"sum":3}' }], structuredContent: { sum: 3 } });
  });

  it("lists resources and reads one", async ({ expect }) => {
    const { resources } = await ask(to, "resources/list");
    expect(resources).toMatchObject(listed.resources.map((uri) => ({ uri })));
    const uri = "test://static-text";
    const text = "This is the content of the static text resource.";
    const { contents } = await ask(to, "resources/read", "--uri", uri);
    expect(contents).toEqual([{ uri, mimeType: "text/plain", text }]);
  });

  it("lists prompts and gets one", async ({ expect }) => {
    const { prompts } = await ask(to, "prompts/list");
    expect(prompts).toEqual(named(listed.prompts));
    const args = ["--prompt-name", "test_prompt_with_arguments", "--prompt-args", "arg1=one", "arg2=two"];
    const { messages } = await ask(to, "prompts/get", ...args);
    const text = "Prompt with arguments: arg1='one', arg2='two'";
    expect(messages).toEqual([{ role: "user", content: { type: "text", text } }]);
  });

  it("fails with a tool that fails", async ({ expect }) => {
    const { code, stdout } = await run(inspect(to, "tools/call", "--tool-name", "test_error_handling"));
    expect(code).toBe(5);
    expect(JSON.parse(stdout)).toMatchObject({ isError: true });
  });
});
