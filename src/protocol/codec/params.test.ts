import { describe, expect, it } from "vitest";
import { paramsProblem } from "./params.ts";

const prompt = { type: "ref/prompt", name: "p" };
const argument = { name: "a", value: "" };

describe("paramsProblem", () => {
  it.each([
    ["server/discover", {}],
    ["tools/list", {}],
    ["tools/list", { cursor: "" }],
    ["tools/call", { name: "a" }],
    ["tools/call", { name: "a", arguments: { b: null }, unknown: 1 }],
    ["resources/read", { uri: "a" }],
    ["prompts/get", { name: "a", arguments: {} }],
    ["completion/complete", { ref: prompt, argument }],
    ["completion/complete", { ref: { type: "ref/resource", uri: "u" }, argument, context: {} }],
    ["subscriptions/listen", { notifications: { taskIds: ["1"] } }],
    ["com.example/mine", { name: 1 }],
    ["toString", { name: 1 }],
  ])("finds nothing wrong with %s %j", (method, params) => {
    expect(paramsProblem(method, params)).toBeUndefined();
  });

  it.each([
    ["tools/list", { cursor: null }, "params.cursor must be a string"],
    ["tools/call", {}, "params.name must be a string"],
    ["tools/call", { name: "a", arguments: null }, "params.arguments must be an object"],
    ["tools/call", { name: "a", arguments: [] }, "params.arguments must be an object"],
    ["resources/read", { uri: 1 }, "params.uri must be a string"],
    ["prompts/get", { name: "a", arguments: { b: 1 } }, "params.arguments.b must be a string"],
    ["completion/complete", { argument }, "params.ref must be an object"],
    ["completion/complete", { ref: {}, argument }, "params.ref.type must be ref/prompt or ref/resource"],
    ["completion/complete", { ref: { type: "ref/prompt" }, argument }, "params.ref.name must be a string"],
    ["completion/complete", { ref: { type: "ref/resource" }, argument }, "params.ref.uri must be a string"],
    ["completion/complete", { ref: prompt, argument: { name: "a" } }, "params.argument.value must be a string"],
    [
      "completion/complete",
      { ref: prompt, argument, context: { arguments: { b: 1 } } },
      "params.context.arguments.b must be a string",
    ],
    ["subscriptions/listen", {}, "params.notifications must be an object"],
    [
      "subscriptions/listen",
      { notifications: { toolsListChanged: "yes" } },
      "params.notifications.toolsListChanged must be true or false",
    ],
    [
      "subscriptions/listen",
      { notifications: { resourceSubscriptions: ["a", 1] } },
      "params.notifications.resourceSubscriptions[1] must be a string",
    ],
  ])("finds what is wrong with %s %j", (method, params, problem) => {
    expect(paramsProblem(method, params)).toBe(problem);
  });
});
