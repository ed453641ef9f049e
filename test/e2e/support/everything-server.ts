import { expect, it } from "vitest";
import type { ConnectOptions } from "../../../src/connect/index.ts";
import { createLog } from "./events.ts";
import { call, next, type Talk } from "./talk.ts";

/** A user who fills the form of the official server with everything, and accepts its defaults. */
export const modest: ConnectOptions = {
  onElicit: ({ requestedSchema }) => {
    expect(requestedSchema.properties).toHaveProperty("firstLine.default");
    return { name: "Ada" };
  },
};

/** What the official server with everything does for our client, whatever the way to it. */
export function offersEverything(talk: () => Talk): void {
  it("lists what it has", async () => {
    const { client } = talk();
    expect((await client.listTools()).map(({ name }) => name)).toEqual(expect.arrayContaining(["echo", "get-sum"]));
    expect((await client.listResources()).length).toBeGreaterThan(3);
    expect(await client.listResourceTemplates()).toHaveLength(2);
    expect((await client.listPrompts()).map(({ name }) => name)).toContain("completable-prompt");
  });

  it("is called", async () => {
    const { client } = talk();
    expect(await call(client, "echo", { message: "hello" })).toBe("Echo: hello");
    expect(await call(client, "get-sum", { a: 1, b: 2 })).toBe("The sum of 1 and 2 is 3.");
    const { content } = await client.callTool("get-tiny-image");
    expect(content.map(({ type }) => type)).toEqual(["text", "image", "text"]);
    await expect(client.tools["get-sum"]?.({ a: "one" })).rejects.toMatchObject({ code: "tool-error" });
  });

  it("returns structured content, which is checked", async () => {
    const { client } = talk();
    await client.listTools();
    const { structuredContent } = await client.callTool("get-structured-content", { location: "Chicago" });
    expect(structuredContent).toMatchObject({ temperature: expect.any(Number), humidity: expect.any(Number) });
  });

  it("reports progress", async () => {
    const { client } = talk();
    const heard: unknown[] = [];
    const onProgress = (progress: unknown) => heard.push(progress);
    await client.callTool("trigger-long-running-operation", { duration: 0.1, steps: 4 }, { onProgress });
    expect(heard).toEqual([1, 2, 3, 4].map((progress) => ({ progress, total: 4 })));
  });

  it("asks, and is answered", async () => {
    const { client } = talk();
    const sampled = await call(client, "trigger-sampling-request", { prompt: "hello", maxTokens: 10 });
    expect(sampled).toContain('"text": "1 message, 10 tokens"');
    const elicited = await call(client, "trigger-elicitation-request");
    expect(elicited).toContain("It was a dark and stormy night.");
    expect(await call(client, "get-roots-list")).toContain("file:///home");
  });

  it("has its resources read", async () => {
    const { client } = talk();
    const [text] = (await client.readResource("demo://resource/dynamic/text/1")).contents;
    expect(text).toMatchObject({ mimeType: "text/plain", text: expect.stringContaining("Resource 1") });
    const [blob] = (await client.readResource("demo://resource/dynamic/blob/1")).contents;
    expect(blob).toMatchObject({ blob: expect.any(String) });
  });

  it("gives prompts, and completes their arguments", async () => {
    const { client } = talk();
    const { messages } = await client.getPrompt("args-prompt", { city: "Bern" });
    expect(messages).toMatchObject([{ role: "user", content: { text: expect.stringContaining("Bern") } }]);
    const ref = { type: "ref/prompt", name: "completable-prompt" } as const;
    const { completion } = await client.complete({ ref, argument: { name: "department", value: "" } });
    expect(completion.values).toContain("Engineering");
  });

  it("tells of a resource that changed", async () => {
    const { client } = talk();
    const uri = "demo://resource/static/document/architecture.md";
    await using watched = client.watch(uri);
    await watched.ready;
    await call(client, "toggle-subscriber-updates");
    expect(await next(watched)).toEqual({ uri });
  });

  it("is not waited for when nobody wants the answer", async () => {
    const { client } = talk();
    const abort = new AbortController();
    const heard = createLog<unknown>();
    const operation = client.callTool(
      "trigger-long-running-operation",
      { duration: 100, steps: 1000 },
      { signal: abort.signal, onProgress: heard.add },
    );
    operation.catch(() => {});
    await heard.count(1);
    abort.abort();
    await expect(operation).rejects.toMatchObject({ code: "cancelled" });
    expect(await call(client, "echo", { message: "hello" })).toBe("Echo: hello");
  });
}
