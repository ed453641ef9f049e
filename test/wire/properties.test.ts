import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isObject, type Json, type JsonObject } from "../../src/json/json.ts";
import { isKnown } from "../../src/protocol/codec/params.ts";
import type { QuestionMethod } from "../../src/protocol/input.ts";
import type { WireMethod } from "../../src/protocol/methods.ts";
import { isLegacy, revisions } from "../../src/protocol/revision.ts";
import { codecFor } from "../support/codecs.ts";
import { callOf, notifications, params, peerOf, results, server } from "./examples.ts";

const methods = Object.keys(params) as WireMethod[];
/** Of a task and what was done to it nothing is said but what there are words for. */
const closed: readonly WireMethod[] = ["tasks/get", "tasks/update", "tasks/cancel"];
const open = methods.filter((method) => !closed.includes(method));
const questions: readonly QuestionMethod[] = ["elicitation/create", "sampling/createMessage", "roots/list"];

const anyJson = fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<Json>;
const statuses = ["working", "input_required", "completed", "failed", "cancelled"];
const ownNames = [
  "_meta",
  "taskId",
  "result",
  "failure",
  "error",
  "task",
  "tasks",
  "content",
  "tools",
  "messages",
  "resultType",
  "inputRequests",
  "__proto__",
  "constructor",
];
const anyName = fc.oneof(fc.constantFrom(...ownNames, "name", "uri", "type", "capabilities"), fc.string());

/** Objects that look enough like messages to get past the first check. */
const anyObject = fc.dictionary(anyName, anyJson).map((value): JsonObject => JSON.parse(JSON.stringify(value)));
const anyMethod = fc.oneof(fc.constantFrom(...methods, ...questions, "notifications/progress"), fc.string());

describe.each(revisions)("%s", (revision) => {
  const codec = codecFor(revision);
  const session = { peer: peerOf(revision), logLevel: undefined };
  const stated = {
    "io.modelcontextprotocol/protocolVersion": revision,
    "io.modelcontextprotocol/clientCapabilities": {},
  };

  it("never throws, whatever it decodes", () => {
    const check = fc.property(anyMethod, anyObject, anyJson, (method, value, data) => {
      const asMethod = method as WireMethod;
      codec.decodeCall({ kind: "request", id: 1, method, params: value }, session);
      codec.decodeCall({ kind: "request", id: 1, method, params: { ...value, _meta: stated } }, session);
      codec.decodeResult(asMethod, value);
      codec.decodeResult(asMethod, { ...value, resultType: "input_required" });
      codec.decodeFailure({ code: -32602, message: "m", data });
      codec.decodeNotification(method, value);
      codec.decodeQuestion(method, value);
      for (const status of statuses) {
        codec.decodeResult("tasks/get", { ...value, taskId: "t", status });
        codec.decodeResult("tools/call", { task: { ...value, taskId: "t", status } });
        codec.decodeNotification("notifications/tasks", { ...value, taskId: "t", status });
      }
      if (revision === "2026-07-28") return;
      codec.decodeInitializeResult(value);
      codec.decodeInitializeRequest(value);
    });
    fc.assert(check, { numRuns: 500 });
  });

  it("never throws, whatever a sloppy author has it encode", () => {
    const check = fc.property(anyMethod, anyObject, (method, value) => {
      const asMethod = method as WireMethod;
      codec.encodeOutcome(asMethod, { kind: "complete", result: value as never });
      codec.encodeNotification(method, value, { progressToken: 1, subscriptionId: 1 });
      for (const status of statuses) {
        codec.encodeOutcome("tasks/get", { kind: "complete", result: { ...value, status } as never });
        codec.encodeNotification("notifications/tasks", { ...value, status });
      }
      for (const question of questions) {
        codec.encodeQuestion({ method: question, params: value as never });
        codec.encodeAnswer(question, value);
      }
    });
    fc.assert(check, { numRuns: 500 });
  });

  it.each(methods)("keeps the params of %s, with every unknown member", (method) => {
    const check = fc.property(unknownMembers(), (unknown) => {
      const given = { ...params[method], ...unknown };
      const wire = codec.encodeCall(callOf(method, revision, { params: given as never }), 1);
      const decoded = codec.decodeCall({ kind: "request", id: 1, method, params: wire }, session);
      expect(wire).toMatchObject(unknown);
      if (!decoded.ok) expect(decoded.failure.code).toBe("method-not-found");
      else expect(decoded.value).toMatchObject({ method, progressToken: 1, params: wire });
    });
    fc.assert(check);
  });

  it.each(open.filter((method) => isKnown(method, revision)))(
    "keeps what it knows of the result of %s, with every unknown member",
    (method) => {
      const check = fc.property(unknownMembers(), (unknown) => {
        const result = { ...results[method], ...unknown };
        const once = roundTrip(method, result);
        expect(once).toMatchObject(unknown);
        expect(roundTrip(method, once)).toEqual(once);
      });
      fc.assert(check);
    },
  );

  it("keeps a notification, and its words", () => {
    for (const [method, given, scope] of notifications) {
      const wire = codec.encodeNotification(method, given, scope);
      if (wire === undefined) continue;
      const told = codec.decodeNotification(codec.notificationName(method), wire);
      expect(told?.method).toBe(method);
      const brief = isLegacy(revision) && method === "notifications/tasks";
      expect(given).toMatchObject(brief ? { taskId: told?.params.taskId } : (told?.params ?? {}));
    }
  });

  it("keeps a failure of an application", () => {
    const check = fc.property(fc.integer({ min: 1 }), fc.string(), anyJson, (number, message, data) => {
      const failure = { code: "application", number, message, data } as const;
      expect(codec.decodeFailure(codec.encodeFailure(failure))).toEqual(failure);
    });
    fc.assert(check);
  });

  function roundTrip(method: WireMethod, result: object): JsonObject {
    const encoded = codec.encodeOutcome(method, { kind: "complete", result: result as never }, server);
    if (!encoded.ok) throw new Error(encoded.failure.message);
    const outcome = codec.decodeResult(method, JSON.parse(JSON.stringify(encoded.value)));
    if (outcome.kind !== "complete" || !isObject(outcome.result)) throw new Error(JSON.stringify(outcome));
    return outcome.result;
  }
});

/** Members with names that no revision gave a meaning. */
function unknownMembers(): fc.Arbitrary<JsonObject> {
  const name = fc.string({ maxLength: 8 }).map((tail) => `x-${tail}`);
  return fc.dictionary(name, anyJson).map((value): JsonObject => JSON.parse(JSON.stringify(value)));
}
