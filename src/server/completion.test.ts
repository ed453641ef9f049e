import { describe, expect, it } from "vitest";
import { complete, failureOf, faultLog, makeCall, send } from "../../test/support/direct.ts";
import type { CompletionRef } from "../protocol/prompt.ts";
import type { Completer } from "./completion.ts";
import { prompt } from "./prompt.ts";
import { resource } from "./resource.ts";
import { createServer } from "./server.ts";

const info = { name: "shop", version: "1" };
const onPrompt: CompletionRef = { type: "ref/prompt", name: "p" };
const onTemplate: CompletionRef = { type: "ref/resource", uri: "a://{x}" };

function withCompleter(completer: Completer, onError = faultLog().onError) {
  return createServer({
    ...info,
    onError,
    prompts: { p: prompt({ get: () => "", complete: { x: completer } }), q: prompt({ get: () => "" }) },
    resources: [
      resource("a://{x}", { read: () => "", complete: { x: completer } }),
      resource("b://{x}", { read: () => "" }),
    ],
  });
}

describe("a completer", () => {
  it.each([onPrompt, onTemplate])("of $type gets the value and what is known, and gives all that fits", async (ref) => {
    const seen: unknown[] = [];
    const server = withCompleter(async (value, { arguments: known, signal }) => {
      seen.push(value, known, signal.aborted);
      return ["tea", "teapot"];
    });
    const argument = { name: "x", value: "te" };
    const context = { arguments: { shop: "north" } };
    expect(await complete(server, "completion/complete", { ref, argument, context })).toStrictEqual({
      completion: { values: ["tea", "teapot"], total: 2, hasMore: false },
    });
    await complete(server, "completion/complete", { ref, argument });
    expect(seen).toEqual(["te", { shop: "north" }, false, "te", {}, false]);
  });

  it.each([
    [99, 99, false],
    [100, 100, false],
    [101, 100, true],
    [5_000, 100, true],
  ])("C73: of %d values has %d sent", async (total, sent, hasMore) => {
    const all = Array.from({ length: total }, (_, index) => String(index));
    const server = withCompleter(() => all);
    const { completion } = await complete(server, "completion/complete", {
      ref: onPrompt,
      argument: { name: "x", value: "" },
    });
    expect(completion).toStrictEqual({ values: all.slice(0, sent), total, hasMore });
  });

  it.each<[string, CompletionRef, string]>([
    ["an unknown prompt", { type: "ref/prompt", name: "nothing" }, "x"],
    ["a prompt without completers", { type: "ref/prompt", name: "q" }, "x"],
    ["an unknown argument", onPrompt, "y"],
    ["an argument called like a member of every object", onPrompt, "constructor"],
    ["__proto__", onTemplate, "__proto__"],
    ["an unknown template", { type: "ref/resource", uri: "c://{x}" }, "x"],
    ["a template without completers", { type: "ref/resource", uri: "b://{x}" }, "x"],
  ])("C73: that nobody registered suggests nothing: %s", async (_, ref, name) => {
    const server = withCompleter(() => ["never"]);
    expect(await complete(server, "completion/complete", { ref, argument: { name, value: "" } })).toStrictEqual({
      completion: { values: [], hasMore: false },
    });
  });

  it.each<[string, unknown]>([
    ["no list", "tea"],
    ["nothing", undefined],
    ["a list of something else", ["tea", 7]],
  ])("that gives %s is an internal error", async (_, values) => {
    const { faults, onError } = faultLog();
    const server = withCompleter(() => values as string[], onError);
    const outcome = await send(server, "completion/complete", { ref: onTemplate, argument: { name: "x", value: "" } });
    expect(failureOf(outcome).message).toMatch(/^internal error/);
    const place = { method: "completion/complete", name: "a://{x}" };
    expect(faults).toMatchObject([[{ message: "a completer must return an array of strings" }, place]]);
  });

  it("C42: that throws is masked", async () => {
    const { faults, onError } = faultLog();
    const server = withCompleter(() => {
      throw new Error("secret");
    }, onError);
    const outcome = await send(server, "completion/complete", { ref: onPrompt, argument: { name: "x", value: "" } });
    expect(failureOf(outcome)).toMatchObject({ code: "internal", message: expect.stringMatching(/^internal error/) });
    expect(faults).toMatchObject([[{ message: "secret" }, { method: "completion/complete", name: "p" }]]);
  });

  it("has a signal that aborts with the call", async () => {
    const server = withCompleter(
      (_, { signal }) => new Promise((resolve) => signal.addEventListener("abort", () => resolve(["aborted"]))),
    );
    const argument = { name: "x", value: "" };
    const { call, abort } = makeCall("completion/complete", { ref: onPrompt, argument });
    const outcome = server(call);
    abort.abort("never mind");
    expect(await outcome).toMatchObject({ result: { completion: { values: ["aborted"] } } });
  });
});
