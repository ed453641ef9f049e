import { describe, expect, it } from "vitest";
import type { JsonObject } from "../json/json.ts";
import type { Tool } from "../protocol/tool.ts";
import { createOutputChecks } from "./output-check.ts";
import type { ClientWarning } from "./warning.ts";

const outputSchema: JsonObject = {
  type: "object",
  properties: { total: { type: "number" } },
  required: ["total"],
};

function toolOf(name: string, schema?: JsonObject): Tool {
  return { name, inputSchema: { type: "object" }, ...(schema !== undefined && { outputSchema: schema }) };
}

function setUp(...tools: readonly unknown[]) {
  const warnings: ClientWarning[] = [];
  const checks = createOutputChecks((warning) => warnings.push(warning));
  checks.learn(tools as readonly Tool[]);
  const check = async (name: string, result: object) => checks.check(name, { content: [], ...result });
  return { checks, check, warnings };
}

describe("createOutputChecks", () => {
  it("passes on the very result when it is what the tool promised", async () => {
    const { checks } = setUp(toolOf("sum", outputSchema));
    const result = { content: [], structuredContent: { total: 3 } };
    expect(await checks.check("sum", result)).toBe(result);
  });

  it("throws invalid-response with the issues when it is not", async () => {
    const { check } = setUp(toolOf("sum", outputSchema));
    await expect(check("sum", { structuredContent: { total: "3" } })).rejects.toMatchObject({
      code: "invalid-response",
      message: expect.stringMatching(/^structured content of tool "sum" does not match its output schema: \/total /),
      data: { issues: [expect.objectContaining({ path: "/total", keyword: "type" })] },
    });
  });

  it("misses structured content that was promised; null is there", async () => {
    const { check } = setUp(toolOf("sum", outputSchema), toolOf("nothing", { type: "null" }));
    await expect(check("sum", {})).rejects.toMatchObject({
      code: "invalid-response",
      message: expect.stringMatching(/^tool "sum" promised structured content and gave none; .*checkOutput/),
    });
    expect(await check("nothing", { structuredContent: null })).toMatchObject({ structuredContent: null });
  });

  it("expects nothing of a failure, of a tool without schema, and of one nobody listed", async () => {
    const { check, checks } = setUp(toolOf("sum", outputSchema), toolOf("plain"));
    expect(await check("sum", { isError: true })).toMatchObject({ isError: true });
    expect(await check("plain", { structuredContent: 1 })).toMatchObject({ structuredContent: 1 });
    expect(await check("new", { structuredContent: 1 })).toMatchObject({ structuredContent: 1 });
    expect(["sum", "plain", "new"].map(checks.knows)).toEqual([true, false, false]);
  });

  it("does not check a schema it cannot use, and says so once; nothing is fetched", async () => {
    const { check, warnings } = setUp(toolOf("far", { $ref: "https://example.com/schema.json" }));
    expect(await check("far", { structuredContent: 1 })).toMatchObject({ structuredContent: 1 });
    expect(await check("far", {})).toEqual({ content: [] });
    expect(warnings).toEqual([
      { kind: "output-unchecked", message: expect.stringMatching(/^results of tool "far" are not checked: /) },
    ]);
  });

  it("does not check by a pattern that could take for ever, and says so once", async () => {
    const { check, warnings } = setUp(toolOf("slow", { type: "string", pattern: "(a+)+$" }));
    const structuredContent = `${"a".repeat(40)}!`;
    const results = await Promise.all([check("slow", { structuredContent }), check("slow", { structuredContent })]);
    expect(results).toMatchObject([{ structuredContent }, { structuredContent }]);
    expect(await check("slow", {})).toEqual({ content: [] });
    expect(warnings).toEqual([
      {
        kind: "output-unchecked",
        message: expect.stringMatching(/^results of tool "slow" are not checked: #\/pattern cannot be used: /),
      },
    ]);
  });

  it("is synchronous once it knows how", async () => {
    const { checks } = setUp(toolOf("sum", { ...outputSchema, patternProperties: { "^a": {} } }));
    const result = { content: [], structuredContent: { total: 3 } };
    await checks.check("sum", result);
    expect(checks.check("sum", result)).toBe(result);
  });

  it("goes by the newest list, and by none after a change", async () => {
    const { check, checks } = setUp(toolOf("sum", outputSchema));
    checks.learn([toolOf("sum", { type: "string" })]);
    expect(await check("sum", { structuredContent: "three" })).toMatchObject({ structuredContent: "three" });
    checks.forget();
    expect(await check("sum", { structuredContent: 3 })).toMatchObject({ structuredContent: 3 });
  });

  it("knows which tools run as tasks, until the list changes", () => {
    const tools = (["optional", "required", "forbidden"] as const).map((taskSupport) => ({
      ...toolOf(taskSupport),
      execution: { taskSupport },
    }));
    const { checks } = setUp(...tools, toolOf("plain"));
    const known = ["optional", "required", "forbidden", "plain"].map(checks.taskSupport);
    expect([known, checks.hasLearned]).toEqual([["optional", "required", undefined, undefined], true]);
    checks.forget();
    expect([checks.taskSupport("required"), checks.hasLearned]).toEqual([undefined, false]);
  });
});
