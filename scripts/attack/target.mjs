import { createPrincipal } from "./http-principal.mjs";
import { createModernPeer, createSessionPeer } from "./peers.mjs";
import { createWire } from "./wire.mjs";

/** Where the second principal comes from, so that bounds on addresses can be told from bounds on all. */
function secondAddress({ hostname }, from) {
  if (from !== undefined) return from;
  return process.platform === "linux" && (hostname === "127.0.0.1" || hostname === "localhost")
    ? "127.0.0.2"
    : undefined;
}

/** Whether a URL leads to this machine. */
export function isHere(url) {
  const { hostname } = new URL(url);
  return hostname === "localhost" || hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}

/** Everybody who calls an HTTP server, and what it has. Throws `Error` when nothing there speaks MCP. */
export async function openTarget({ url, headers, secondHeaders, weakHeaders, secondUrl, from, uses }) {
  const wire = createWire(url, { headers });
  const as = (own, at = url) => createPrincipal(createWire(at, { headers: own }));
  const first = createPrincipal(wire);
  const localAddress = secondAddress(wire.url, from);
  const second = secondHeaders && createPrincipal(createWire(url, { headers: secondHeaders, localAddress }));
  const weak = weakHeaders && as(weakHeaders);
  const elsewhere = secondUrl === undefined ? undefined : as(headers, secondUrl);

  const target = await explore(first);
  const known = { ...uses, ...(uses.echo === undefined && readOnlyEcho(target.tools)) };
  const has = new Set([
    ...Object.keys(known),
    ...(target.isModern ? ["modern"] : []),
    ...(target.isLegacy ? ["legacy"] : []),
    ...(target.hasSessions ? ["sessions"] : []),
    ...(target.canSubscribe ? ["subscribe"] : []),
    ...(second ? ["second"] : []),
    ...(weak ? ["weak"] : []),
    ...(elsewhere ? ["second-url"] : []),
    ...((await isGuarded(wire)) ? ["credentials"] : []),
  ]);

  return {
    target,
    first,
    second,
    weak,
    elsewhere,
    uses: known,
    has,
    /** The call that is made while the others attack. */
    async canary() {
      const caller = second ?? createPrincipal(createWire(url, { headers, localAddress }));
      return canaryOf(caller, target, known, localAddress);
    },
    async peers() {
      const session = target.hasSessions ? await first.openSession() : undefined;
      return [
        ...(target.isModern ? [createModernPeer(first)] : []),
        ...(session === undefined ? [] : [createSessionPeer(session)]),
      ];
    },
  };
}

async function explore(first) {
  const discovered = await first.modern("server/discover");
  const isModern = Array.isArray(discovered.result?.supportedVersions);
  let opened;
  const session = await first.openSession({ refusal: (answer) => (opened = answer) });
  const isLegacy = session !== undefined || opened?.messages[0]?.result?.protocolVersion !== undefined;
  if (!isModern && !isLegacy) {
    throw new Error(
      `nothing at ${first.wire.url} speaks MCP: HTTP ${opened?.status || opened?.failure}; check --header`,
    );
  }
  const ask = (method) => (isModern ? first.modern(method) : (session?.call(method, {}) ?? Promise.resolve({})));
  const { result: tools } = await ask("tools/list");
  const { result: resources } = await ask("resources/list");
  const { result: templates } = await ask("resources/templates/list");
  const listed = resources?.resources ?? [];
  const subscribed = await session?.call("resources/subscribe", { uri: listed[0]?.uri ?? "attack://resource" });
  await session?.end();
  return {
    isModern,
    isLegacy,
    hasSessions: session !== undefined,
    canSubscribe: subscribed?.kind === "result",
    tools: tools?.tools ?? [],
    resources: listed,
    templates: templates?.resourceTemplates ?? [],
  };
}

/** A tool that its server calls read-only and that takes one text: it may be called without being asked. */
export function readOnlyEcho(tools) {
  for (const { name, annotations, inputSchema } of tools) {
    const members = Object.entries(inputSchema?.properties ?? {});
    const [member, { type } = {}] = members[0] ?? [];
    if (annotations?.readOnlyHint === true && members.length === 1 && type === "string") {
      return { echo: { name, args: { [member]: "attack" } } };
    }
  }
  return {};
}

/** Whether callers without credentials are refused. */
async function isGuarded(wire) {
  if (Object.keys(wire.headers).length === 0) return false;
  const { status } = await wire.request({ body: "{}", anonymous: true });
  return status === 401 || status === 403;
}

/** A request that is good again and again. Undefined when the server gives the caller no session. */
async function canaryOf(caller, { isModern }, { echo }, localAddress) {
  const { wire } = caller;
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    ...wire.headers,
  };
  const [method, params] = echo ? ["tools/call", { name: echo.name, arguments: echo.args }] : ["tools/list", {}];
  if (isModern) {
    const peer = caller.modernParts(method, params);
    return { url: `${wire.url}`, headers: { ...headers, ...peer.headers }, body: peer.body, localAddress };
  }
  const session = await caller.openSession();
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  return session && { url: `${wire.url}`, headers: { ...headers, ...session.headers }, body, localAddress };
}
