import {
  able,
  initializeRequest,
  modernHeaders,
  modernRequest,
  nameIn,
  notification,
  outcomeOf,
  request,
  withSessions,
} from "./messages.mjs";

/** One who calls an HTTP server, in both eras. Nothing rejects. */
export function createPrincipal(wire) {
  let last = 100;
  const nextId = () => ++last;

  const modernParts = (method, params, id = nextId(), headers = {}) => ({
    headers: { ...modernHeaders(method, nameIn(method, params)), ...headers },
    body: JSON.stringify(modernRequest(method, params, id)),
  });

  return {
    wire,
    nextId,
    /** Headers and body of a request of 2026-07-28. */
    modernParts,

    /** A request of 2026-07-28. */
    async modern(method, params = {}, { headers, timeoutMs, id = nextId() } = {}) {
      return outcomeOf(await wire.request({ ...modernParts(method, params, id, headers), timeoutMs }), id);
    },

    /** The same, and its answer is read as it comes. */
    modernStream(method, params = {}, { headers, id = nextId() } = {}) {
      return wire.stream(modernParts(method, params, id, headers));
    },

    /** The same as bytes, for bare connections. */
    modernBytes(method, params = {}, id = nextId()) {
      const { headers, body } = modernParts(method, params, id);
      return wire.head({ headers: { ...headers, "content-length": Buffer.byteLength(body) } }) + body;
    },

    /** Opens a session. Undefined when the server has none, or refuses this one; `refusal` hears why. */
    openSession(options) {
      return openSession(wire, nextId, options);
    },
  };
}

/** A session of an older revision, whoever uses it: `headers` are those of the session. */
async function openSession(wire, nextId, { revision = withSessions, capabilities = able, refusal } = {}) {
  const { extensions, ...others } = capabilities;
  const opened = await wire.request({ body: JSON.stringify(initializeRequest(0, revision, others)) });
  const id = opened.headers["mcp-session-id"];
  if (outcomeOf(opened, 0).kind !== "result" || id === undefined) {
    refusal?.(opened);
    return undefined;
  }
  const headers = { "mcp-session-id": id, "mcp-protocol-version": revision };
  const post = (message, { by = wire, timeoutMs } = {}) =>
    by.request({ headers, body: typeof message === "string" ? message : JSON.stringify(message), timeoutMs });
  await post(notification("notifications/initialized"));

  return {
    id,
    headers,
    nextId,
    post,
    /** A request in the session. `by`: whose credentials go with it. */
    async call(method, params, { by, timeoutMs, id: own = nextId() } = {}) {
      return outcomeOf(await post(request(method, params, own), { by, timeoutMs }), own);
    },
    stream: (message, by = wire) => by.stream({ headers, body: JSON.stringify(message) }),
    get: ({ by = wire, lastEventId } = {}) =>
      by.stream({
        method: "GET",
        headers: { ...headers, ...(lastEventId !== undefined && { "last-event-id": lastEventId }) },
      }),
    end: (by = wire) => by.request({ method: "DELETE", headers }),
  };
}
