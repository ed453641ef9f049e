import { describe, isRefused, textOf } from "../messages.mjs";
import { call } from "../peers.mjs";
import { judge, notApplicable, quoted } from "../verdicts.mjs";

// Messages that a server must refuse, whatever carries them. Each is tried with every peer: in both eras, over HTTP
// or stdio.

const LONG = 1_000_000;
/** What a name is replaced by, so that two errors about names can be compared. */
const NOBODY = "no_such_name";
const inherited = ["__proto__", "constructor", "toString", "hasOwnProperty", "valueOf"];

export const messageAttacks = [
  attack(
    {
      id: "prototype-members",
      covers: ["V22"],
      title: "names tools, prompts, methods and members like those of every object",
    },
    async (peer, { uses }) => {
      const problems = [];
      for (const [method, member] of [
        ["tools/call", "name"],
        ["prompts/get", "name"],
        ["resources/read", "uri"],
      ]) {
        const usual = await call(peer, method, { [member]: NOBODY, arguments: {} });
        for (const name of inherited) {
          const answer = await call(peer, method, { [member]: name, arguments: {} });
          if (told(answer, name) !== told(usual, NOBODY)) {
            problems.push(`${method} of ${name} is told from one of an unknown name: ${quoted(told(answer, name))}`);
          }
        }
      }
      for (const method of inherited) {
        const answer = await call(peer, method, {});
        if (answer.kind === "result") problems.push(`method ${method} has a result`);
      }
      const { echo } = uses;
      const polluting = '{"__proto__":{"isPolluted":true},"constructor":{"prototype":{"isPolluted":true}}}';
      const params = echo ? { name: echo.name, arguments: "POLLUTING" } : { cursor: "POLLUTING" };
      const method = echo ? "tools/call" : "tools/list";
      await raw(peer, method, params, (text) => text.replace('"POLLUTING"', polluting));
      const after = await call(peer, "tools/list", {});
      if (JSON.stringify(after.result ?? {}).includes("isPolluted"))
        problems.push("objects have a member that was sent");
      return problems;
    },
  ),
  attack(
    { id: "strange-ids", covers: ["V34"], title: "uses ids that are no ids, and numbers that are not exact" },
    async (peer) => {
      const problems = [];
      for (const id of ["null", "true", "1.5", "[1]", '{"a":1}', "1e400"]) {
        const answer = await withId(peer, id);
        if (answer.kind === "result") problems.push(`id ${id} was answered with a result`);
      }
      for (const id of ["9007199254740993", "-9007199254740993", "12345678901234567890"]) {
        const answer = await withId(peer, id);
        if (answer.kind === "result" && `${answer.message.id}` !== id) {
          problems.push(`id ${id} was answered as ${answer.message.id}`);
        }
      }
      return problems;
    },
  ),
  attack(
    { id: "huge-names", covers: ["V23"], title: "sends ids, methods, names, URIs and cursors of a megabyte" },
    async (peer) => {
      const long = "x".repeat(LONG);
      const tried = [
        ["method", long, {}],
        ["tool", "tools/call", { name: long, arguments: {} }],
        ["prompt", "prompts/get", { name: long }],
        ["URI", "resources/read", { uri: `test://${long}` }],
        ["cursor", "tools/list", { cursor: long }],
        ["level", "logging/setLevel", { level: long }],
      ];
      const problems = [];
      for (const [what, method, params] of tried) {
        const answer = await call(peer, method, params);
        if (answer.kind === "result" && what !== "cursor") problems.push(`a ${what} of a megabyte has a result`);
        const size = JSON.stringify(answer.message ?? null).length;
        if (size > LONG * 3) problems.push(`a ${what} of a megabyte has an answer of ${size} characters`);
        if (answer.kind === "silent") problems.push(`a ${what} of a megabyte is not answered`);
      }
      return problems;
    },
  ),
  attack(
    { id: "invalid-utf8", covers: ["V34"], title: "sends bytes that are no UTF-8" },
    async (peer, { uses }) => {
      const { echo } = uses;
      const method = echo ? "tools/call" : "tools/list";
      const params = echo ? { name: echo.name, arguments: withText(echo, "BYTES") } : { _meta: { note: "BYTES" } };
      const id = peer.nextId();
      const [before, after] = JSON.stringify(peer.encode(method, params, id)).split("BYTES");
      const problems = [];
      for (const bytes of [
        [0xff, 0xfe],
        [0xc0, 0x80],
        [0xed, 0xa0, 0x80],
        [0xf5, 0x80, 0x80, 0x80],
      ]) {
        const body = Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from(after)]);
        const answer = await peer.exchange(body, { method, params, id });
        if (answer.kind === "result") {
          problems.push(
            `bytes ${Buffer.from(bytes).toString("hex")} were read as ${quoted(textOf(answer.result) || "text")}`,
          );
        }
      }
      return problems;
    },
    (peer) => peer.isModern || peer.name.includes("stdio"),
  ),
  attack({ id: "wrong-shapes", covers: ["V41"], title: "sends JSON that is no message" }, async (peer) => {
    const bodies = [
      "",
      " ",
      "{}",
      "[]",
      "null",
      "1",
      '"text"',
      "{",
      '{"jsonrpc":"1.0","id":1,"method":"tools/list"}',
      '{"jsonrpc":"2.0","id":1}',
      '{"jsonrpc":"2.0","id":1,"method":7}',
      '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[1]}',
      '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":"x"}',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":{},"arguments":"x"}}',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":"x"}}',
      '{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"x"}}',
      '{"jsonrpc":"2.0","id":1,"method":"tools/list","result":{}}',
      '{"jsonrpc":"2.0","id":1,"METHOD":"tools/list","Method":"tools/list"}',
      "\u0000",
      '{"jsonrpc":"2.0","id":1,"method":"tools/list"}{"jsonrpc":"2.0","id":2,"method":"tools/list"}',
      "[".repeat(5_000),
      '{"a":'.repeat(5_000),
    ];
    const problems = [];
    for (const body of bodies) {
      const answer = await peer.exchange(body, { id: 1, timeoutMs: 1_000 });
      if (answer.kind === "result") problems.push(`${quoted(body)} was answered with a result`);
      if (answer.kind === "dropped") problems.push(`${quoted(body)} ended the connection`);
      if (answer.status >= 500) problems.push(`${quoted(body)} was answered with HTTP ${answer.status}`);
    }
    return problems;
  }),
  attack(
    { id: "responses-to-nobody", covers: ["V41"], title: "sends responses to what nobody asked" },
    async (peer) => {
      const problems = [];
      for (const id of [1, 0, -1, "1", "__proto__", 1e15]) {
        for (const answer of [{ result: { action: "accept" } }, { error: { code: 1, message: "x" } }]) {
          const body = JSON.stringify({ jsonrpc: "2.0", id, ...answer });
          const { kind, status } = await peer.exchange(body, { id: "none", timeoutMs: 300 });
          if (kind === "result" || kind === "dropped") problems.push(`a response to ${quoted(id)} was ${kind}`);
          if (status >= 500) problems.push(`a response to ${quoted(id)} was answered with HTTP ${status}`);
        }
      }
      return problems;
    },
  ),
  attack(
    { id: "duplicate-members", covers: ["V20"], title: "says one thing in the headers, and two in the body" },
    async (peer, { uses }) => {
      const { echo } = uses;
      if (echo === undefined) return "needs a tool with the role echo";
      const id = peer.nextId();
      const message = peer.encode("tools/call", { name: echo.name, arguments: echo.args }, id);
      const name = JSON.stringify(echo.name);
      const body = JSON.stringify(message).replace(`"name":${name}`, `"name":"${NOBODY}","name":${name}`);
      const answer = await peer.exchange(body, { method: "tools/call", params: { name: NOBODY }, id });
      return answer.kind === "result" ? [`${echo.name} was called, and the header said ${NOBODY}`] : [];
    },
    ({ isModern, name }) => isModern && !name.includes("stdio"),
  ),
  attack(
    { id: "header-mismatch", covers: ["V20"], title: "says one thing in the headers, and another in the body" },
    async (peer) => {
      const body = JSON.stringify(peer.encode("tools/list", {}, 1));
      const read = JSON.stringify(peer.encode("resources/read", { uri: "test://one" }, 1));
      const tried = {
        "another method": [body, { "mcp-method": "prompts/list" }],
        "no method": [body, { "mcp-method": undefined }],
        "another revision": [body, { "mcp-protocol-version": "2025-11-25" }],
        "no revision": [body, { "mcp-protocol-version": undefined }],
        "two methods": [body, { "mcp-method": "tools/list, prompts/list" }],
        "another name": [read, { "mcp-method": "resources/read", "mcp-name": "test://two" }],
        "no name": [read, { "mcp-method": "resources/read", "mcp-name": undefined }],
        "an encoded other name": [read, { "mcp-method": "resources/read", "mcp-name": "=?base64?dGVzdDovL3R3bw==?=" }],
      };
      const problems = [];
      for (const [what, [text, headers]] of Object.entries(tried)) {
        const answer = await peer.exchange(text, { id: 1, headers });
        if (!isRefused(answer)) problems.push(`${what} in the headers: ${describe(answer)}`);
        else if (answer.error !== undefined && answer.status !== 400)
          problems.push(`${what} in the headers: HTTP ${answer.status}`);
      }
      return problems;
    },
    ({ isModern, name }) => isModern && !name.includes("stdio"),
  ),
  attack({ id: "path-traversal", covers: ["V21"], title: "reads files by resource URIs" }, async (peer, { target }) => {
    const up = "../../../../../../../../../../etc/passwd";
    const paths = [
      up,
      encodeURIComponent(up),
      encodeURIComponent(encodeURIComponent(up)),
      "/etc/passwd",
      "//etc/passwd",
      "..\\..\\..\\..\\windows\\win.ini",
      `${up}%00.txt`,
      "/proc/self/environ",
    ];
    const uris = [
      "file:///etc/passwd",
      "file:///proc/self/environ",
      `file://localhost/${up}`,
      "file:///c:/windows/win.ini",
    ];
    const templates = target.templates.map(({ uriTemplate }) => uriTemplate.replace(/\{[^}]*\}/g, "HERE"));
    for (const base of [...templates, ...target.resources.slice(0, 5).map(({ uri }) => `${uri}/HERE`)]) {
      for (const path of paths) uris.push(base.replaceAll("HERE", path));
    }
    const problems = [];
    for (const uri of uris.slice(0, 300)) {
      const answer = await call(peer, "resources/read", { uri });
      const text = JSON.stringify(answer.result ?? "");
      if (/root:[^:]*:0:0:|\[fonts\]|PATH=/.test(text)) problems.push(`${quoted(uri)} gave ${quoted(text)}`);
    }
    return problems;
  }),
  attack(
    { id: "slow-templates", covers: ["V28"], title: "sends URIs and arguments that take long to match" },
    async (peer, { target, uses }) => {
      const long = [`${"a/".repeat(20_000)}`, `${"a,".repeat(20_000)}!`, `${"%41".repeat(13_000)}`, "a".repeat(40_000)];
      const templates = target.templates
        .slice(0, 10)
        .map(({ uriTemplate }) => uriTemplate.replace(/\{[^}]*\}/g, "HERE"));
      const tried = templates.flatMap((base) =>
        long.map((path) => ["resources/read", { uri: base.replaceAll("HERE", path) }]),
      );
      if (uses.echo)
        tried.push(["tools/call", { name: uses.echo.name, arguments: withText(uses.echo, `${"a".repeat(50_000)}!`) }]);
      if (tried.length === 0) return "there are no templates, and no tool with the role echo";
      const problems = [];
      for (const [method, params] of tried) {
        const start = performance.now();
        const answer = await call(peer, method, params, { timeoutMs: 10_000 });
        const took = performance.now() - start;
        if (answer.kind === "silent" || took > 3_000) problems.push(`${method} took ${Math.round(took)} ms`);
      }
      return problems;
    },
  ),
  attack(
    { id: "leaky-errors", covers: ["V33"], title: "makes errors, and looks for stack traces and paths in them" },
    async (peer, { uses }) => {
      const tried = [
        ["tools/call", { name: NOBODY, arguments: {} }],
        ["tools/call", { name: uses.echo?.name ?? NOBODY, arguments: { unexpected: { toString: 1 } } }],
        ["resources/read", { uri: "nothing" }],
        ["completion/complete", { ref: {}, argument: {} }],
        [NOBODY, {}],
      ];
      const problems = [];
      for (const [method, params] of tried) {
        const text = JSON.stringify((await call(peer, method, params)).message ?? "");
        if (/\bat \S+ \(|node_modules|\.[cm]?[jt]s:\d+/.test(text)) problems.push(`${method}: ${quoted(text, 160)}`);
      }
      return problems;
    },
  ),
];

/** An attack with every peer that it is about. `tryOne` resolves with problems, or with why it does not apply. */
function attack(about, tryOne, fits = () => true) {
  return {
    ...about,
    async run(ctx) {
      const peers = (await ctx.peers()).filter(fits);
      if (peers.length === 0) return notApplicable("the server speaks no revision that this is about");
      const problems = [];
      const missing = [];
      for (const peer of peers) {
        const found = await tryOne(peer, ctx);
        if (typeof found === "string") missing.push(found);
        else problems.push(...found.map((problem) => `${peer.name}: ${problem}`));
      }
      if (missing.length === peers.length) return notApplicable(missing[0]);
      return judge(problems, `refused in ${peers.map(({ name }) => name).join(" and ")}`);
    },
  };
}

/** What a caller is told of a name, without the name. */
function told(answer, name) {
  const text = answer.error?.message ?? textOf(answer.result) ?? "";
  const code = answer.error?.code ?? (answer.kind === "result" ? "a result" : answer.kind);
  return `${code} ${text}`.replaceAll(name, "NAME").replaceAll(encodeURIComponent(name), "NAME");
}

/** Sends a request whose text is changed before it goes. */
function raw(peer, method, params, change) {
  const id = peer.nextId();
  return peer.exchange(change(JSON.stringify(peer.encode(method, params, id))), { method, params, id });
}

function withId(peer, id) {
  const text = JSON.stringify(peer.encode("tools/list", {}, "THE-ID")).replace('"THE-ID"', id);
  return peer.exchange(text, { method: "tools/list", timeoutMs: 1_500 });
}

/** The arguments of a tool, with another text. */
export function withText({ args }, text) {
  return Object.fromEntries(
    Object.entries(args).map(([name, value]) => [name, typeof value === "string" ? text : value]),
  );
}
