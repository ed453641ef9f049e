import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { eventually } from "../../test/support/patience.ts";
import { gate } from "../../test/support/served.ts";
import { as, whoeverSays } from "../../test/support/who.ts";
import { openHost } from "../host/index.ts";
import type { Middleware, Outcome } from "../protocol/service.ts";
import { type Context, createServer, resource, tool } from "../server/index.ts";
import { type HttpServeHandle, serveHttp } from "../transport/node/serve-http.ts";
import { connect } from "./connect.ts";
import type { ConnectOptions } from "./connect-options.ts";

// Results that a server gave to one principal, when the same client is somebody else later.

let served: HttpServeHandle;
/** What the server was asked for, by whom. */
let asked: string[];
/** Holds up the next answer. */
let holdUp: (() => Promise<void>) | undefined;

const note: Middleware = (next) => async (call) => {
  const { method, peer } = call;
  if (method === "resources/read" || method === "tools/list") asked.push(`${method} ${peer.auth?.principal}`);
  const outcome = await next(call);
  await holdUp?.();
  return outcome as Outcome;
};

beforeEach(async () => {
  asked = [];
  holdUp = undefined;
  const cache = { ttlMs: 600_000, scope: "private" } as const;
  const read = (_: unknown, { auth }: Pick<Context, "auth">) => `of ${auth?.principal}`;
  const server = createServer({
    name: "diary",
    version: "1",
    cache,
    middleware: [note],
    tools: { write: tool({ run: () => "written" }) },
    resources: [resource("diary://today", { cache, read })],
  });
  served = await serveHttp(server, { port: 0, auth: whoeverSays });
});

afterEach(() => served.close());

const diaryOf = (who: string) => ({ contents: [{ text: `of ${who}` }] });

/** Ways to say who one is, where that may change. */
const ways: readonly (readonly [string, (who: () => string) => ConnectOptions])[] = [
  ["headers", (who) => ({ headers: () => ({ ...as(who()), "x-request-id": crypto.randomUUID() }) })],
  ["auth", (who) => ({ auth: { headers: async () => as(who()), refused: async () => false } })],
];

describe.each(ways)("what is kept of a server, when %s shows it somebody else", (_, optionsFor) => {
  let who: string;
  const options = () => optionsFor(() => who);
  beforeEach(() => {
    who = "ann";
  });

  it("is not that of who the client was before", async () => {
    await using client = await connect(served.url, options());
    const read = () => client.readResource("diary://today");
    expect([await read(), await read()]).toMatchObject([diaryOf("ann"), diaryOf("ann")]);
    who = "bob";
    expect([await read(), await read()]).toMatchObject([diaryOf("bob"), diaryOf("bob")]);
    who = "ann";
    expect(await read()).toMatchObject(diaryOf("ann"));
    expect(asked).toEqual(["ann", "bob", "ann"].map((name) => `resources/read ${name}`));
  });

  it("is no answer that was asked for by who the client was before", async () => {
    await using client = await connect(served.url, options());
    const { opened, open } = gate();
    holdUp = () => opened;
    const first = client.readResource("diary://today");
    await eventually(() => expect(asked).toHaveLength(1));
    who = "bob";
    holdUp = undefined;
    open();
    expect(await first).toMatchObject(diaryOf("ann"));
    expect(await client.readResource("diary://today")).toMatchObject(diaryOf("bob"));
  });

  it("is no list, nor what was read, of who a host was before", async () => {
    await using host = await openHost({ diary: { target: served.url, connectOptions: options() } });
    await host.settled();
    const look = async () => {
      await host.listTools();
      return host.readResource("diary", "diary://today");
    };
    expect([await look(), await look()]).toMatchObject([diaryOf("ann"), diaryOf("ann")]);
    who = "bob";
    expect([await look(), await look()]).toMatchObject([diaryOf("bob"), diaryOf("bob")]);
    const both = (name: string) => [`tools/list ${name}`, `resources/read ${name}`];
    expect(asked).toEqual([...both("ann"), ...both("bob")]);
  });
});
