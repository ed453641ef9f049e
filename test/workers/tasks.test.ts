import { describe, expect, it } from "vitest";
import { tasksForExtension, tasksForVersion1 } from "../e2e/support/official-tasks.ts";
import { call, openTalk } from "../e2e/support/talk.ts";
import { startWorker } from "./support/worker.ts";

// Tasks of our server in workerd, where a handler ends with its request.

const worker = await startWorker("test/fixtures/workers/everything.mjs", {
  compatibilityFlags: ["enable_request_signal"],
});

tasksForVersion1(`${worker.url}/mcp`);
tasksForExtension(`${worker.url}/mcp`);

describe.each(["2026-07-28", "2025-11-25"] as const)("tasks in a Worker, for our client of %s", (revision) => {
  const open = (path = "/mcp") =>
    openTalk(`${worker.url}${path}`, { revision, onElicit: () => ({ confirm: true, name: "Ada" }) });

  it("outlive their request, ask and come to their results (I2)", async () => {
    await using talk = await open();
    const { client } = talk;
    const handle = await client.tasks.start("slow_compute", { seconds: 0.5, label: "sum" });
    expect(await handle.status()).toMatchObject({ status: "working" });
    const confirmed = client.tasks.start("confirm_delete", { filename: "a.txt" }).then((task) => task.result());
    const named = client.tasks.start("test_tool_with_task").then((task) => task.result());
    expect(await handle.result()).toMatchObject({ content: [{ text: "sum: computed for 0.5 s" }] });
    expect(await confirmed).toMatchObject({ content: [{ text: "Deleted a.txt" }] });
    expect(await named).toMatchObject({ content: [{ text: "Hello, Ada!" }] });
  });

  it("are cancelled by another request (I2)", async () => {
    await using talk = await open();
    const handle = await talk.client.tasks.start("slow_compute", { seconds: 60 });
    const result = handle.result();
    result.catch(() => {});
    await handle.cancel();
    await expect(result).rejects.toMatchObject({ code: "cancelled" });
    expect(await handle.status()).toMatchObject({ status: "cancelled" });
  });

  it("are refused at once where the handler was given the request alone, and the caller hears why (I2)", async () => {
    await using talk = await open("/bare");
    const start = talk.client.tasks.start("failing_job");
    await expect(start.then((task) => task.result())).rejects.toThrow("pass all arguments of fetch to the handler");
    expect(await call(talk.client, "slow_compute", { seconds: 0.4, label: "as a call" })).toContain("as a call");
  });
});
