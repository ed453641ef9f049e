import { fork } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { connect as connectSocket } from "node:net";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { inspect } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { oidc } from "../../src/auth/node/proxy.ts";
import { connect } from "../../src/connect/index.ts";
import { openGateway, type Vault } from "../../src/gateway/index.ts";
import { McpError } from "../../src/protocol/errors.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { type Store, StoreError } from "../../src/store/store.ts";
import { createLog } from "../e2e/support/events.ts";
import { quietPort } from "../support/quiet-port.ts";
import { redisProgram, startRedis } from "../support/redis.ts";
import {
  type AccountGateway,
  createVisitor,
  gatewayToken,
  startAccountGateway,
  vaultKey,
} from "./support/account-gateway.ts";
import { type AccountServer, startAccountServer } from "./support/account-server.ts";
import { barrier } from "./support/barrier.ts";
import { type AuthorizationServer, close, listen, startProvider } from "./support/provider.ts";
import { createUser } from "./support/user-agent.ts";

// Users of a gateway with accounts of their own at a server behind it, which takes tokens of a real OpenID provider.

let issuer: AuthorizationServer;
let notes: AccountServer;

beforeAll(async () => {
  issuer = await startProvider();
  notes = await startAccountServer(issuer);
});

afterAll(async () => {
  await notes[Symbol.asyncDispose]();
  await issuer[Symbol.asyncDispose]();
});

const eras = ["2025-11-25", "2026-07-28"] as const;

function start(options: Partial<Parameters<typeof startAccountGateway>[0]> = {}): Promise<AccountGateway> {
  return startAccountGateway({ servers: { notes: notes.url }, credentials: { notes: { kind: "user" } }, ...options });
}

describe.each(eras)("a client of %s", (revision) => {
  it("has its user connect an account when a call needs it, and the call goes on", async () => {
    await using front = await start();
    const ann = createVisitor("ann-at-notes");
    await using client = await front.open("ann", { revision, ...ann.options });
    expect((await client.listTools()).map(({ name }) => name)).toEqual([]);
    expect(await client.callTool("notes__whoami")).toMatchObject({
      content: [{ type: "text", text: "ann-at-notes" }],
    });
    expect(ann.visits.at(-1)?.page).toContain("notes is connected");
    expect(ann.user.titles[0]).toBe("Connect notes for ann@example.com?");
    expect((await client.listTools({ fresh: true })).map(({ name }) => name)).toEqual([
      "notes__whoami",
      "notes__confirm",
      "notes__write",
    ]);
    expect(ann.links).toHaveLength(1);
  });

  it("hears that there are tools when the account is connected", async () => {
    await using front = await start();
    await using client = await front.open("ann", { revision });
    const heard = createLog<object>();
    const changes = client.changes();
    await changes.ready;
    void (async () => {
      for await (const change of changes) heard.add(change);
    })();
    await client.listTools();
    await createVisitor("ann").open(await front.gateway.accounts("user:ann").linkUrl("notes"));
    await heard.find((change) => JSON.stringify(change).includes("tools"));
    expect(await client.listTools()).toHaveLength(3);
  });

  it("gets an error with the link where it cannot be asked", async () => {
    await using front = await start();
    await using client = await front.open("ann", { revision });
    const error = await failureOf(client.callTool("notes__whoami"));
    const [, link = ""] = /open (\S+) in a browser/.exec(error.message) ?? [];
    expect(link).toMatch(new RegExp(`^${front.origin}/connect/notes\\?ticket=`));
    await createVisitor("ann").open(link);
    expect(textOf(await client.callTool("notes__whoami"))).toBe("ann");
  });

  it("gets an error when its user does not want to", async () => {
    await using front = await start();
    await using client = await front.open("ann", { revision, onElicitUrl: () => ({ action: "decline" }) });
    expect((await failureOf(client.callTool("notes__whoami"))).message).toContain("did not connect");
  });

  it("has the account connected again when its refresh token was revoked", async () => {
    await using front = await start();
    const ann = createVisitor("ann");
    await using client = await front.open("ann", { revision, ...ann.options });
    await client.callTool("notes__whoami");
    await revokeAll(issuer, notes, ann.links.length);
    expect(textOf(await client.callTool("notes__whoami"))).toBe("ann");
    expect(ann.links).toHaveLength(2);
    expect(kindsIn(front.told)).toEqual(["connected", "expired", "connected"]);
  });

  it("has the account connected again when a tool needs more scopes", async () => {
    await using front = await start({ credentials: { notes: { kind: "user", scopes: ["mcp:read"] } } });
    const ann = createVisitor("ann");
    await using client = await front.open("ann", { revision, ...ann.options });
    await client.callTool("notes__whoami");
    expect(textOf(await client.callTool("notes__write"))).toBe("written by ann");
    expect(ann.links).toHaveLength(2);
    expect(textOf(await client.callTool("notes__whoami"))).toBe("ann");
  });

  it.each(eras)("is asked for the account, and then what a server of %s asks", async (behind) => {
    const servers = { notes: { target: notes.url, connectOptions: { revision: behind } } };
    await using front = await start({ servers });
    const ann = createVisitor("ann");
    const onElicit = () => ({ action: "accept", content: { ok: true } }) as const;
    await using client = await front.open("ann", { revision, ...ann.options, onElicit });
    expect(textOf(await client.callTool("notes__confirm"))).toBe("ann says yes");
    expect(textOf(await client.callTool("notes__confirm"))).toBe("ann says yes");
    expect(ann.links).toHaveLength(1);
  });

  it("has all its calls go on when the user has used one link", async () => {
    await using front = await start();
    const ann = createVisitor("ann");
    const asked: string[] = [];
    const all = barrier(3);
    const onElicitUrl = async ({ url }: { readonly url: string | URL }) => {
      asked.push(String(url));
      await all();
      if (String(url) === asked[0]) await ann.open(url);
      return { action: "accept" } as const;
    };
    await using client = await front.open("ann", { revision, onElicitUrl });
    const calls = await Promise.all([1, 2, 3].map(() => client.callTool("notes__whoami")));
    expect(calls.map(textOf)).toEqual(["ann", "ann", "ann"]);
    expect(asked).toHaveLength(3);
  });

  it("may give up while its user is away, and call again later", async () => {
    await using front = await start();
    const abort = new AbortController();
    const links: string[] = [];
    const onElicitUrl = ({ url }: { readonly url: string | URL }) => {
      links.push(String(url));
      if (links.length === 1) setImmediate(() => abort.abort("enough"));
      return { action: "accept" } as const;
    };
    await using client = await front.open("ann", { revision, onElicitUrl });
    await expect(client.callTool("notes__whoami", {}, { signal: abort.signal })).rejects.toThrow("cancelled");
    await createVisitor("ann").open(links[0] ?? "");
    expect(textOf(await client.callTool("notes__whoami"))).toBe("ann");
  });

  it("sees only the things of its user", async () => {
    await using front = await start();
    const [ann, bob] = [createVisitor("ann"), createVisitor("bob")];
    await using annsClient = await front.open("ann", { revision, ...ann.options });
    await using bobsClient = await front.open("bob", { revision });
    await annsClient.callTool("notes__whoami");
    expect(await bobsClient.listTools()).toEqual([]);
    expect(await bobsClient.listResources()).toEqual([]);
    await expect(bobsClient.readResource("notes://mine")).rejects.toThrow();
    await expect(bobsClient.callTool("notes__whoami")).rejects.toThrow("open ");
    await bob.open(await front.gateway.accounts("user:bob").linkUrl("notes"));
    const both = [annsClient, bobsClient, annsClient, bobsClient];
    const calls = await Promise.all(both.map((client) => client.callTool("notes__whoami")));
    expect(calls.map(textOf)).toEqual(["ann", "bob", "ann", "bob"]);
    const reads = await Promise.all(both.map((client) => client.readResource("notes://mine")));
    expect(reads.map((read) => JSON.stringify(read).match(/notes of \w+/)?.[0])).toEqual([
      "notes of ann",
      "notes of bob",
      "notes of ann",
      "notes of bob",
    ]);
  });
});

describe("a link", () => {
  const linkFor = (front: AccountGateway, user: string) => front.gateway.accounts(`user:${user}`).linkUrl("notes");
  const stateOf = async (front: AccountGateway, user: string) =>
    (await front.gateway.accounts(`user:${user}`).list())[0]?.state;
  /** How far a user comes until the upstream sends them back. */
  const untilBack = (front: AccountGateway, visitor: ReturnType<typeof createVisitor>, link: string) =>
    visitor.user.browse(
      new URL(link),
      ({ location }) => location?.startsWith(`${front.origin}/connect/notes/callback`) === true,
    );

  it("says whose account it is for, and warns of links of others", async () => {
    await using front = await start();
    const eve = createVisitor("eve");
    const { page, response } = await eve.user.browse(new URL(await linkFor(front, "ann")), () => true);
    expect(page).toContain("Continue only if you are user:ann");
    expect(page).not.toContain("<script");
    expect(response.headers.get("content-security-policy")).toMatch(/^default-src 'none';.*frame-ancestors 'none'/);
    expect(response.headers.get("x-frame-options")).toBe("DENY");
    expect(response.headers.get("cache-control")).toBe("no-store");
  });

  it("is of no use to another user, where the gateway finds out whose browser it is", async () => {
    const identify = (http: { header(name: string): string | undefined }) => http.header("x-user");
    await using front = await start({ vault: { identify } });
    const link = new URL(await linkFor(front, "ann"));
    const [eve, ann] = ["eve", "ann"].map((user) => createUser({ headers: { "x-user": `user:${user}` } }));
    expect((await eve?.browse(link, () => false))?.response.status).toBe(403);
    expect((await createUser().browse(link, () => false)).response.status).toBe(403);
    expect(await stateOf(front, "ann")).toBe("none");
    expect((await ann?.browse(link, () => false))?.response.status).toBe(200);
    expect(await stateOf(front, "ann")).toBe("connected");
  });

  it("is of use only to who signs in as its user with the identity provider of the gateway", async () => {
    const port = await quietPort();
    const client = {
      client_id: "gateway",
      client_secret: "only-for-tests-0123456789",
      redirect_uris: [`http://127.0.0.1:${port}/connect-identity`],
      scope: "openid email profile",
    };
    await using company = await startProvider({ scopes: ["email", "profile"], clients: [client] });
    const identify = oidc({ issuer: company.issuer, clientId: "gateway", clientSecret: client.client_secret });
    await using front = await start({ port, vault: { identify } });
    const accounts = front.gateway.accounts(`${company.issuer}#ann`);
    const link = await accounts.linkUrl("notes");
    expect((await createVisitor("eve").open(link)).response.status).toBe(403);
    expect((await accounts.list())[0]?.state).toBe("none");
    expect((await createVisitor("ann").open(link)).page).toContain("notes is connected");
    expect((await accounts.list())[0]?.state).toBe("connected");
  });

  it("goes on only in the browser that it was opened in", async () => {
    await using front = await start();
    const link = await linkFor(front, "ann");
    const [one, other] = [createVisitor("ann"), createVisitor("eve")];
    const { page } = await one.user.browse(new URL(link), () => true);
    const [, form = ""] = /name="link" value="([^"]+)"/.exec(page) ?? [];
    const place = new URL("/connect/notes", front.origin);
    await other.user.browse(new URL(link), () => true);
    const sent = await other.user.visit(place, new URLSearchParams({ link: form, decision: "allow" }));
    expect(sent.status).toBe(403);
    const { location } = await untilBack(front, one, link);
    expect((await other.user.visit(new URL(location ?? ""))).status).toBe(403);
    expect(await stateOf(front, "ann")).toBe("none");
    expect((await one.user.visit(new URL(location ?? ""))).status).toBe(200);
    expect(await stateOf(front, "ann")).toBe("connected");
  });

  it("is not gone on with by the page of somebody else", async () => {
    await using front = await start();
    const ann = createVisitor("ann");
    const { page } = await ann.user.browse(new URL(await linkFor(front, "ann")), () => true);
    const [, form = ""] = /name="link" value="([^"]+)"/.exec(page) ?? [];
    const sent = await fetch(`${front.origin}/connect/notes`, {
      method: "POST",
      redirect: "manual",
      headers: {
        origin: "https://evil.example",
        cookie: [...ann.user.cookies].map((pair) => pair.join("=")).join("; "),
      },
      body: new URLSearchParams({ link: form, decision: "allow" }),
    });
    expect(sent.status).toBe(403);
  });

  it("is good once, and a user who comes back is taken once", async () => {
    await using front = await start();
    const link = await linkFor(front, "ann");
    const ann = createVisitor("ann");
    const { location } = await untilBack(front, ann, link);
    const callback = new URL(location ?? "");
    expect((await ann.user.visit(callback)).status).toBe(200);
    expect((await ann.user.visit(callback)).status).toBe(400);
    expect((await ann.open(link)).page).toContain("was used before");
  });

  it("is not good for ever, for another server, or when it was changed", async () => {
    await using front = await start({ vault: { linkTtlMs: 1 } });
    const old = await linkFor(front, "ann");
    await untilLater();
    expect((await createVisitor("ann").open(old)).response.status).toBe(400);
    await using fresh = await start();
    const link = new URL(await linkFor(fresh, "ann"));
    link.searchParams.set("ticket", `${link.searchParams.get("ticket")?.slice(0, -2)}AA`);
    expect((await createVisitor("ann").open(link)).response.status).toBe(400);
    expect(
      (await createVisitor("ann").open(`${fresh.origin}${new URL(old).pathname}${new URL(old).search}`)).response
        .status,
    ).toBe(400);
  });

  it("takes nobody who comes back with the state, the code or the issuer of another", async () => {
    await using front = await start();
    const [ann, eve] = [createVisitor("ann"), createVisitor("eve")];
    const back = async (visitor: typeof ann, user: string) =>
      new URL((await untilBack(front, visitor, await linkFor(front, user))).location ?? "");
    const [anns, eves] = [await back(ann, "ann"), await back(eve, "eve")];
    const withChange = (name: string, value: string | null) => {
      const url = new URL(anns);
      url.searchParams.set(name, value ?? "");
      return url;
    };
    const wrongState = await ann.user.visit(withChange("state", eves.searchParams.get("state")));
    expect(wrongState.status).toBe(403);
    const wrongCode = await ann.user.visit(withChange("code", eves.searchParams.get("code")));
    expect(wrongCode.status).toBe(502);
    const again = await back(ann, "ann");
    again.searchParams.set("iss", "https://evil.example");
    expect((await ann.user.visit(again)).status).toBe(502);
    expect([await stateOf(front, "ann"), await stateOf(front, "eve")]).toEqual(["none", "none"]);
  });

  it("is answered to no other host", async () => {
    await using front = await start();
    const link = new URL(await linkFor(front, "ann"));
    const answer = await raw(
      front,
      `GET ${link.pathname}${link.search} HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1.1 403 /);
  });
});

describe("what is kept", () => {
  const connected = async (front: AccountGateway, user: string) =>
    createVisitor(user).open(await front.gateway.accounts(`user:${user}`).linkUrl("notes"));

  it("is of no use to another user, when it is moved", async () => {
    const store = recordingStore();
    await using front = await start({ store });
    await connected(front, "ann");
    await connected(front, "bob");
    const names = [...store.written.keys()].filter((name) => /vault:account:/.test(name));
    expect(names).toHaveLength(2);
    const [one = "", two = ""] = names;
    const [first, second] = [await store.values.get(one), await store.values.get(two)];
    await store.values.put(one, second?.text ?? "");
    await store.values.put(two, first?.text ?? "");
    const states = await Promise.all(
      ["ann", "bob"].map(async (user) => (await front.gateway.accounts(`user:${user}`).list())[0]?.state),
    );
    expect(states).toEqual(["none", "none"]);
  });

  it("is opened by an older key, and encrypted with the first one when it is used", async () => {
    const store = recordingStore();
    const [older, newer] = [vaultKey(), vaultKey()];
    await using first = await start({ store, keys: [older] });
    await connected(first, "ann");
    const call = async (keys: readonly string[]) => {
      await using front = await start({ store, keys, vault: { origin: first.origin } });
      await using client = await front.open("ann");
      return await client.callTool("notes__whoami").then(textOf, ({ message }) => message as string);
    };
    expect(await call([newer, older])).toBe("ann");
    expect(await call([newer])).toBe("ann");
    expect(await call([older])).toContain("open ");
  });

  it("is refreshed once, whichever processes want to", async () => {
    const store = memoryStore();
    const keys = [vaultKey()];
    await using one = await start({ store, keys });
    await using other = await start({ store, keys, vault: { origin: one.origin } });
    await connected(one, "ann");
    const clients = await Promise.all([one.open("ann"), other.open("ann")]);
    for (const client of clients) expect(textOf(await client.callTool("notes__whoami"))).toBe("ann");
    const before = issuer.grants.length;
    notes.block(notes.shown.at(-1) ?? "");
    const calls = await Promise.all(clients.map((client) => client.callTool("notes__whoami")));
    expect(calls.map(textOf)).toEqual(["ann", "ann"]);
    expect(issuer.grants.slice(before)).toEqual(["refresh_token"]);
    await Promise.all(clients.map((client) => client.close()));
  });

  it("is forgotten in all processes, and revoked, when the user disconnects", async () => {
    const store = memoryStore();
    const keys = [vaultKey()];
    await using one = await start({ store, keys });
    await using other = await start({ store, keys, vault: { origin: one.origin } });
    await connected(one, "ann");
    await using client = await other.open("ann");
    await client.callTool("notes__whoami");
    const token = notes.shown.at(-1) ?? "";
    expect(await one.gateway.accounts("user:ann").disconnect("notes")).toBe(true);
    expect((await issuer.provider.AccessToken.find(token))?.isValid).not.toBe(true);
    await expect(client.callTool("notes__whoami")).rejects.toThrow("open ");
    expect(await client.listTools()).toEqual([]);
    expect(await one.gateway.accounts("user:ann").disconnect("notes")).toBe(false);
  });

  it("is used again once a store that was away is back", async () => {
    const store = recordingStore();
    await using front = await start({ store });
    await connected(front, "ann");
    await using client = await front.open("ann");
    store.isAway = true;
    await expect(client.callTool("notes__whoami")).rejects.toMatchObject({ code: "internal" });
    store.isAway = false;
    expect(textOf(await client.callTool("notes__whoami"))).toBe("ann");
  });

  it("never comes out", async () => {
    const store = recordingStore();
    await using front = await start({ store, credentials: { notes: { kind: "user" } } });
    const ann = createVisitor("ann");
    await using client = await front.open("ann", ann.options);
    await client.callTool("notes__whoami");
    const secrets = [...new Set(notes.shown), gatewayToken("ann")];
    await revokeAll(issuer, notes, 1);
    await using silent = await front.open("ann");
    const error = await failureOf(silent.callTool("notes__whoami"));
    const tickets = ann.links.map((link) => new URL(link).searchParams.get("ticket") ?? "");
    const seen = inspect([front.told, front.warnings, front.gateway.status(), front.gateway.servers(), error], {
      depth: 12,
    });
    for (const secret of [...secrets, ...tickets]) expect(seen.includes(secret)).toBe(false);
    const kept = [...store.written].flat(2).join("\n");
    for (const secret of [...secrets, ...tickets]) expect(kept.includes(secret)).toBe(false);
    expect(kept).not.toContain("ann@example.com");
    expect(notes.heard.some((value) => value.includes("gateway-token-of"))).toBe(false);
  });
});

describe("a process that is killed", () => {
  it.skipIf(redisProgram === undefined)("leaves a user who is on the way to another one", async () => {
    await using redis = await startRedis();
    const [port, key] = [await quietPort(), vaultKey()];
    const options = { port, key, store: redis.url, notes: notes.url };
    const script = fileURLToPath(new URL("support/gateway-child.ts", import.meta.url));
    const run = async () => {
      const child = fork(script, [JSON.stringify(options)], { execArgv: ["--import", import.meta.resolve("tsx")] });
      await once(child, "message");
      return async () => {
        child.kill("SIGKILL");
        await once(child, "exit");
      };
    };
    const origin = `http://127.0.0.1:${port}`;
    const kill = await run();
    const ann = createVisitor("ann");
    let killed = false;
    const restart = async (): Promise<() => Promise<void>> => {
      await kill();
      killed = true;
      return run();
    };
    let end = async (): Promise<void> => {};
    const options2026 = {
      revision: "2026-07-28",
      headers: { authorization: `Bearer ${gatewayToken("ann")}` },
      async onElicitUrl({ url }: { readonly url: string | URL }) {
        const back = await ann.user.browse(new URL(url), ({ location }) => location?.includes("/callback") === true);
        end = await restart();
        await ann.open(back.location ?? "");
        return { action: "accept" } as const;
      },
    } as const;
    const { headers, ...rest } = options2026;
    await using client = await connect({ url: `${origin}/mcp`, headers }, rest);
    expect(textOf(await client.callTool("notes__whoami"))).toBe("ann");
    expect(killed).toBe(true);
    expect(ann.visits.at(-1)?.page).toContain("notes is connected");
    await end();
  });
});

describe("other credentials", () => {
  it("are keys that users enter, each in its header", async () => {
    const keys = { "key-of-ann-0123456789": "ann", "key-of-bob-0123456789": "bob" };
    await using server = await startAccountServer(issuer, { keys });
    const credentials = { notes: { kind: "key", header: "X-Api-Key", help: "See your settings." } } as const;
    await using front = await startAccountGateway({ servers: { notes: server.url }, credentials });
    const enter = async (user: string, key: string) => {
      const { user: browser } = createVisitor(user);
      const link = new URL(await front.gateway.accounts(`user:${user}`).linkUrl("notes"));
      const { page } = await browser.browse(link, () => true);
      expect(page).toContain("See your settings.");
      const [, form = ""] = /name="link" value="([^"]+)"/.exec(page) ?? [];
      const sent = new URLSearchParams({ link: form, key, decision: "allow" });
      return (await browser.visit(new URL("/connect/notes", front.origin), sent)).status;
    };
    expect(await enter("ann", "with\nbreak")).toBe(400);
    expect(await enter("ann", "key-of-ann-0123456789")).toBe(200);
    expect(await enter("bob", "key-of-bob-0123456789")).toBe(200);
    await using ann = await front.open("ann");
    await using bob = await front.open("bob");
    expect([textOf(await ann.callTool("notes__whoami")), textOf(await bob.callTool("notes__whoami"))]).toEqual([
      "ann",
      "bob",
    ]);
    await front.gateway.accounts("user:ann").disconnect("notes");
    await expect(ann.callTool("notes__whoami")).rejects.toThrow("open ");
    expect(await enter("ann", "key-of-nobody-0123456789")).toBe(200);
    await expect(ann.callTool("notes__whoami")).rejects.toThrow("open ");
    expect(await front.gateway.accounts("user:ann").list()).toMatchObject([
      { server: "notes", kind: "key", state: "expired" },
    ]);
    expect(JSON.stringify([front.told, front.warnings])).not.toContain("key-of-");
  });

  it("are tokens in exchange for those of callers, by the issuer that is named and no other", async () => {
    await using exchange = await startExchange();
    await using server = await startAccountServer({ ...issuer, issuer: exchange.url }, { keys: exchange.given });
    const given = {
      kind: "exchange",
      issuer: exchange.url,
      clientId: "gateway",
      clientSecret: "secret-0123456789abcdef",
    } as const;
    await using front = await startAccountGateway({ servers: { notes: server.url }, credentials: { notes: given } });
    await using ann = await front.open("ann");
    await using bob = await front.open("bob");
    expect((await ann.listTools()).map(({ name }) => name)).toContain("notes__whoami");
    expect(textOf(await ann.callTool("notes__whoami"))).toBe("ann");
    expect(textOf(await bob.callTool("notes__whoami"))).toBe("bob");
    expect(exchange.subjects).toEqual([gatewayToken("ann"), gatewayToken("bob")]);
    expect(server.heard.some((value) => value.includes("gateway-token"))).toBe(false);
    // Another issuer that a server names gets nothing.
    await using evil = await startAccountServer(issuer);
    await using misled = await startAccountGateway({ servers: { notes: evil.url }, credentials: { notes: given } });
    await using victim = await misled.open("ann");
    await expect(victim.callTool("notes__whoami")).rejects.toThrow();
    expect(issuer.heard()).not.toContain(gatewayToken("ann"));
  });

  it("are those of the gateway itself, for all callers", async () => {
    const given = {
      kind: "client",
      issuer: issuer.issuer,
      clientId: "machine",
      clientSecret: "machine-secret",
    } as const;
    await using front = await start({ credentials: { notes: given } });
    await using ann = await front.open("ann");
    expect(textOf(await ann.callTool("notes__whoami"))).toBe("client machine");
    await expect(front.gateway.accounts("user:ann").list()).resolves.toEqual([]);
  });
});

describe("credentials of openGateway", () => {
  const origin = "https://gateway.example.com";
  const wrong: readonly (readonly [string, object, readonly string[] | undefined, string])[] = [
    ["no keys", { origin, servers: {} }, undefined, "vaultKeys is needed"],
    ["a key that can be guessed", { origin, servers: {} }, ["secret"], "vaultKeys[0] must be 32 random bytes"],
    ["no origin", { servers: {} }, [vaultKey()], "origin must be"],
    ["an origin by http", { origin: "http://gateway.example.com", servers: {} }, [vaultKey()], "origin must be"],
    ["an unknown kind", { origin, servers: { a: { kind: "passthrough" } } }, [vaultKey()], "needs a kind"],
    [
      "a header that is taken",
      { origin, servers: { a: { kind: "key", header: "Host" } } },
      [vaultKey()],
      "servers.a.header",
    ],
    [
      "an exchange without an issuer",
      { origin, servers: { a: { kind: "exchange", clientId: "a" } } },
      [vaultKey()],
      "issuer",
    ],
    ["an unknown option", { origin, servers: {}, store: 1 }, [vaultKey()], 'unknown option "store"'],
  ];

  it.each(wrong)("are refused with %s", async (_, credentials, vaultKeys, message) => {
    await expect(openGateway({}, { credentials: credentials as Vault, vaultKeys })).rejects.toThrow(message);
  });

  it("are for servers at URLs", async () => {
    const servers = { local: { kind: "key" } } as const;
    await using gateway = await openGateway(
      { local: { command: "node" } },
      { credentials: { origin, servers }, vaultKeys: [vaultKey()] },
    );
    expect(gateway.servers()).toMatchObject([{ name: "local", state: "off", reason: { code: "invalid-config" } }]);
  });

  it("are needed for accounts", async () => {
    await using gateway = await openGateway({});
    expect(() => gateway.accounts("ann")).toThrow("give openGateway credentials");
  });
});

/** An authorization server that exchanges tokens of the gateway's users for tokens that a server takes as keys. */
async function startExchange() {
  const given: Record<string, string> = {};
  const subjects: string[] = [];
  const server = createServer(async (request, response) => {
    const body = new URLSearchParams(await text(request));
    const subject = body.get("subject_token") ?? "";
    const user = /token-of-(\w+)-/.exec(subject)?.[1] ?? "";
    const token = `exchanged-${user}-${randomBytes(16).toString("hex")}`;
    if (request.url === "/token") {
      subjects.push(subject);
      given[token] = user;
    }
    const answer =
      request.url === "/token"
        ? {
            access_token: token,
            token_type: "Bearer",
            expires_in: 600,
            issued_token_type: "urn:ietf:params:oauth:token-type:access_token",
          }
        : { issuer: url, token_endpoint: `${url}/token` };
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
  });
  const url = await listen(server);
  return { url, given, subjects, [Symbol.asyncDispose]: () => close(server) };
}

/** The text of a result. */
function textOf({ content }: { readonly content: readonly unknown[] }): string {
  return (content[0] as { text: string }).text;
}

async function failureOf(work: Promise<unknown>): Promise<McpError> {
  const failure = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (failure instanceof McpError) return failure;
  throw new Error(`this did not fail as it should: ${failure}`);
}

function kindsIn(told: readonly unknown[]): readonly string[] {
  return told.flatMap((event) => {
    const { kind, principal } = event as { kind: string; principal?: string };
    return principal === undefined ? [] : [kind];
  });
}

/** As if the user had taken back, at the server, what the gateway may do. */
async function revokeAll({ provider }: AuthorizationServer, server: AccountServer, count: number): Promise<void> {
  const tokens = [...new Set(server.shown)].slice(-count);
  for (const token of tokens) {
    const found = await provider.AccessToken.find(token);
    await provider.RefreshToken.revokeByGrantId(found?.grantId ?? "");
    await found?.destroy();
  }
}

/** Until the clock of the platform shows another millisecond, and one more. */
async function untilLater(): Promise<void> {
  const start = Date.now();
  while (Date.now() < start + 2) await new Promise((resolve) => setImmediate(resolve));
}

async function raw(front: AccountGateway, request: string): Promise<string> {
  const socket = connectSocket(Number(new URL(front.origin).port), "127.0.0.1");
  socket.write(request);
  return text(socket);
}

interface RecordingStore extends Store {
  readonly written: Map<string, string[]>;
  /** While true, it cannot be reached. */
  isAway: boolean;
}

/** A store, and all that was written to it. */
function recordingStore(): RecordingStore {
  const store = memoryStore();
  const written = new Map<string, string[]>();
  const values: Store["values"] = {
    ...store.values,
    get(name) {
      if (recording.isAway) throw new StoreError("unavailable", "the store is away");
      return store.values.get(name);
    },
    put(name, value, options) {
      written.set(name, [...(written.get(name) ?? []), value]);
      return store.values.put(name, value, options);
    },
  };
  const recording = { ...store, values, written, isAway: false };
  return recording;
}
