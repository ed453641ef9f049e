import { describe, expect, it } from "vitest";
import { dial } from "../connect/connect.ts";
import { createHost, type Host } from "../host/host.ts";
import type { CreateMessageParams, CreateMessageResult } from "../protocol/input.ts";
import { createServer, tool } from "../server/index.ts";
import { pickModel } from "./pick-model.ts";
import { createSampler } from "./sampler.ts";

const models = [
  { name: "big-opus-4", cost: 1, speed: 0.2, intelligence: 1, aliases: ["claude"] },
  { name: "small-haiku-4", cost: 0.1, speed: 1, intelligence: 0.3 },
  { name: "mid-sonnet-4", cost: 0.4, speed: 0.6, intelligence: 0.7 },
];

describe("the model for a server", () => {
  it.each([
    [{}, "big-opus-4"],
    [{ hints: [{ name: "haiku" }] }, "small-haiku-4"],
    [{ hints: [{ name: "gpt" }, { name: "SONNET" }] }, "mid-sonnet-4"],
    [{ hints: [{ name: "claude" }] }, "big-opus-4"],
    [{ hints: [{ name: "unknown" }, {}], costPriority: 1 }, "small-haiku-4"],
    [{ speedPriority: 1 }, "small-haiku-4"],
    [{ intelligencePriority: 1 }, "big-opus-4"],
    [{ intelligencePriority: 0.9, costPriority: 0.6 }, "mid-sonnet-4"],
    [{ hints: [{ name: "-4" }], costPriority: 1 }, "small-haiku-4"],
  ])("for %j is %s", (preferences, expected) => {
    expect(pickModel(models, preferences)?.name).toBe(expected);
  });
});

const answer = (text: string, model = "m"): CreateMessageResult => ({
  role: "assistant",
  content: { type: "text", text },
  model,
});

function asking(params: Partial<CreateMessageParams>) {
  return createServer({
    name: "asker",
    version: "1",
    tools: {
      think: tool({
        run: async (_, ctx) => {
          const reply = await ctx.sample({
            messages: [{ role: "user", content: { type: "text", text: "?" } }],
            maxTokens: 9_999,
            ...params,
          });
          return JSON.stringify(reply.content);
        },
      }),
      own: tool({ run: () => "from the asker" }),
    },
  });
}

describe("sampling for servers", () => {
  it("picks a model, and bounds the reply", async () => {
    const seen: unknown[] = [];
    const onSample = createSampler({
      models,
      generate: async (model, { maxTokens }, { server }) => {
        seen.push([model.name, maxTokens, server]);
        return answer("hm");
      },
    });
    const spec = { target: asking({ modelPreferences: { speedPriority: 1 } }), trust: { sample: true } };
    await using host = createHost({ a: spec }, { onSample }, { dial });
    expect((await host.callTool("a:think")).content[0]).toMatchObject({ text: expect.stringContaining("hm") });
    expect(seen).toEqual([["small-haiku-4", 4_096, "a"]]);
  });

  it("lets a server use the model with tools of its own, where the host says so", async () => {
    const seen: unknown[] = [];
    const onSample = createSampler({
      models,
      generate: async (_, { tools }) => {
        seen.push(tools?.map(({ name }) => name));
        return answer("hm");
      },
    });
    const own = [{ name: "mine", inputSchema: { type: "object" } }];
    const spec = { target: asking({ tools: own }), trust: { sample: true } };
    await using able = createHost({ a: spec }, { onSample, sampling: { tools: true } }, { dial });
    await able.callTool("a:think");
    expect(seen).toEqual([["mine"]]);
    await using unable = createHost({ a: spec }, { onSample }, { dial });
    const refused = await unable.callTool("a:think").catch(() => ({ isError: true }));
    expect(refused.isError).toBe(true);
    expect(seen).toHaveLength(1);
  });

  it("asks for consent", async () => {
    const onSample = createSampler({ models, generate: async () => answer("hm"), onApprove: () => false });
    await using host = createHost({ a: { target: asking({}), trust: { sample: true } } }, { onSample }, { dial });
    const result = await host
      .callTool("a:think")
      .catch((error: Error) => ({ isError: true, content: [{ text: error.message }] }));
    expect(result.isError).toBe(true);
  });

  it.each([
    ["none", []],
    ["thisServer", ["a:think", "a:own"]],
    ["allServers", ["a:think", "a:own", "b:think", "b:own"]],
  ] as const)(
    "with the context %s the model has the tools %j, and the host runs them",
    async (includeContext, expected) => {
      let host: Host | undefined;
      const turns: CreateMessageParams[] = [];
      const onSample = createSampler({
        models,
        tools: () => host as Host,
        generate: async (_, params) => {
          turns.push(params);
          if (expected.length === 0 || turns.length > 1) return answer(JSON.stringify(params.messages.at(-1)?.content));
          return { ...answer(""), content: { type: "tool_use", id: "1", name: expected.at(-1) ?? "", input: {} } };
        },
      });
      const spec = { target: asking({ includeContext }), trust: { sample: true } };
      await using opened = createHost({ a: spec, b: { target: asking({}) } }, { onSample }, { dial });
      host = opened;
      const result = await opened.callTool("a:think");
      expect(turns[0]?.tools?.map(({ name }) => name) ?? []).toEqual(expected);
      if (expected.length > 0) expect(JSON.stringify(result)).toContain("from the asker");
    },
  );
});
