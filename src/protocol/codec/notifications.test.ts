import { describe, expect, it } from "vitest";
import { codecFor } from "../../../test/support/codecs.ts";
import { revisions } from "../revision.ts";

const codec = codecFor("2026-07-28");
const subscriptionId = "io.modelcontextprotocol/subscriptionId";

describe("notifications", () => {
  it.each([7, "7"])("tags what belongs to subscription %j", (id) => {
    const wire = codec.encodeNotification(
      "notifications/tools/list_changed",
      { _meta: { own: 1 } },
      { subscriptionId: id },
    );
    expect(wire).toEqual({ _meta: { own: 1, [subscriptionId]: id } });
    const told = codec.decodeNotification("notifications/tools/list_changed", wire ?? {});
    expect(told).toEqual({ method: "notifications/tools/list_changed", params: { _meta: { own: 1 } } });
  });

  it.each([
    "notifications/initialized",
    "notifications/roots/list_changed",
    "notifications/elicitation/complete",
    "notifications/tasks/status",
  ])("has no %s", (method) => {
    expect(codec.encodeNotification(method, {})).toBeUndefined();
  });

  it("sends progress only by a token", () => {
    const params = { progress: 1 };
    expect(codec.encodeNotification("notifications/progress", params, { progressToken: 0 })).toEqual({
      progress: 1,
      progressToken: 0,
    });
    expect(codec.encodeNotification("notifications/progress", params)).toBeUndefined();
    expect(codec.decodeNotification("notifications/progress", { progress: 1, progressToken: 0 })?.params).toEqual(
      params,
    );
  });

  it("passes what it does not know", () => {
    const params = { any: 1, progressToken: 1 };
    expect(codec.encodeNotification("notifications/mine", params)).toBe(params);
    expect(codec.encodeNotification("constructor", params)).toBe(params);
    expect(codec.decodeNotification("notifications/mine", params)?.params).toBe(params);
    expect(codec.notificationName("notifications/mine")).toBe("notifications/mine");
    expect(codec.notificationName("constructor")).toBe("constructor");
  });

  it.each(revisions)("of %s say nothing that was meant for this side only", (revision) => {
    const _meta = { "plugbay/position": "1", "plugbay/after": "0", "plugbay/lost": true };
    const { encodeNotification } = codecFor(revision);
    expect(encodeNotification("notifications/tools/list_changed", { _meta })).toEqual({});
    expect(encodeNotification("notifications/resources/updated", { uri: "u", _meta: { ..._meta, own: 1 } })).toEqual({
      uri: "u",
      _meta: { own: 1 },
    });
  });
});

describe("notifications of sessions", () => {
  const legacy = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] as const;

  it.each(legacy)("%s does not know subscriptions", (revision) => {
    const { encodeNotification } = codecFor(revision);
    expect(encodeNotification("notifications/subscriptions/acknowledged", { notifications: {} })).toBeUndefined();
    const params = { uri: "a" };
    expect(encodeNotification("notifications/resources/updated", params, { subscriptionId: 1 })).toBe(params);
    expect(
      encodeNotification("notifications/resources/updated", { ...params, _meta: { [subscriptionId]: 1 } }),
    ).toEqual(params);
  });

  it.each([...legacy, "2026-07-28"] as const)("%s has messages, list changes and cancellation", (revision) => {
    const { encodeNotification } = codecFor(revision);
    for (const method of ["message", "tools/list_changed", "prompts/list_changed", "cancelled"]) {
      const params = { any: 1 };
      expect(encodeNotification(`notifications/${method}`, params)).toBe(params);
    }
  });

  it.each([
    ["2024-11-05", false],
    ["2025-03-26", false],
    ["2025-06-18", false],
    ["2025-11-25", true],
  ] as const)("%s tells that a page is done with: %s", (revision, known) => {
    const said = codecFor(revision).encodeNotification("notifications/elicitation/complete", { elicitationId: "e" });
    expect(said !== undefined).toBe(known);
  });

  it.each([
    ["2024-11-05", undefined],
    ["2025-03-26", "half"],
    ["2025-11-25", "half"],
  ] as const)("%s says progress with the words %s", (revision, message) => {
    const params = { progress: 1, message: "half" };
    const said = codecFor(revision).encodeNotification("notifications/progress", params, { progressToken: "p" });
    expect(said).toEqual({ progress: 1, progressToken: "p", ...(message && { message }) });
  });

  it.each(legacy)("%s tells of itself and its roots", (revision) => {
    const { encodeNotification } = codecFor(revision);
    expect(encodeNotification("notifications/initialized", {})).toEqual({});
    expect(encodeNotification("notifications/roots/list_changed", {})).toEqual({});
  });
});
