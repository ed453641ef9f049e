import { modernHeaders, modernRequest, nameIn, outcomeOf, request } from "./messages.mjs";

// One who sends messages, well-formed or not, whatever carries them. Attacks by messages need no more than this.

/** Requests of 2026-07-28, one POST each. */
export function createModernPeer(principal) {
  const { wire, nextId } = principal;
  return {
    name: "2026-07-28",
    isModern: true,
    nextId,
    encode: modernRequest,
    /** Sends a text or bytes as they are. `method` and `params` are what the headers say. */
    async exchange(payload, { method = "tools/list", params, id, headers, timeoutMs = 5_000 } = {}) {
      const all = { ...modernHeaders(method, nameIn(method, params)), ...headers };
      return outcomeOf(await wire.request({ headers: all, body: payload, timeoutMs }), id);
    },
  };
}

/** Requests in a session of an older revision. */
export function createSessionPeer(session) {
  return {
    name: "2025-11-25",
    isModern: false,
    nextId: session.nextId,
    encode: request,
    async exchange(payload, { id, timeoutMs = 5_000 } = {}) {
      return outcomeOf(await session.post(asBody(payload), { timeoutMs }), id);
    },
  };
}

function asBody(payload) {
  return typeof payload === "string" ? payload : JSON.stringify(payload);
}

/** A child process that is asked over its stdin, in the era in which it was opened. */
export function createStdioPeer(child, isModern) {
  return {
    name: isModern ? "2026-07-28 over stdio" : "2025-11-25 over stdio",
    isModern,
    nextId: child.nextId,
    encode: isModern ? modernRequest : request,
    async exchange(payload, { id, timeoutMs = 5_000 } = {}) {
      const from = child.messages.length;
      child.write(payload);
      child.write("\n");
      const answers = (message) =>
        child.messages.indexOf(message) >= from &&
        ("result" in message || "error" in message) &&
        (message.id === id || message.id === null || message.id === undefined);
      const message = await child.find(answers, timeoutMs);
      if (message !== undefined) return outcomeOf({ status: 0, messages: [message] }, id);
      return { kind: child.isGone ? "dropped" : "silent", status: 0 };
    },
  };
}

/** A well-formed request of a peer. */
export function call(peer, method, params, { timeoutMs } = {}) {
  const id = peer.nextId();
  return peer.exchange(JSON.stringify(peer.encode(method, params, id)), { method, params, id, timeoutMs });
}
