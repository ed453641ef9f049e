import { describe, expect, it } from "vitest";
import { gate, hello, request, serve, serveLegacy } from "../../test/support/served.ts";
import { createServer, resource, tool } from "../server/index.ts";

const uri = "file:///a";
const call = (id: number, name: string) => request(id, "tools/call", { name, arguments: {} });

/** A server whose tool tells what it knows of the client. */
function setUp() {
  const hold = gate();
  const server = createServer({
    name: "s",
    version: "1",
    logging: true,
    tools: {
      who: tool({ run: (_, ctx) => `${ctx.client.revision} ${Object.keys(ctx.client.capabilities)}` }),
      hold: tool({ run: () => hold.opened.then(() => "held") }),
      log: tool({
        run(_, ctx) {
          ctx.log("debug", "said");
          return "logged";
        },
      }),
    },
    subscribe: true,
    resources: [resource(uri, { read: () => "text" })],
  });
  return { server, hold };
}

const said = (text: string) => ({ result: { content: [{ type: "text", text }] } });

describe("a second initialize on one channel", () => {
  it("is accepted, and a new session takes the place of the old one (I4)", async () => {
    const { server } = setUp();
    const { client, settled } = await serveLegacy(server, { revision: "2025-11-25" });
    expect(await client.request("logging/setLevel", { level: "debug" })).toHaveProperty("result");
    expect(await client.request("resources/subscribe", { uri })).toHaveProperty("result");

    const again = await client.request("initialize", hello("2025-06-18", { roots: {} }));
    expect(again).toMatchObject({ result: { protocolVersion: "2025-06-18", serverInfo: { name: "s" } } });
    client.notify("notifications/initialized");
    expect(await client.request("tools/call", { name: "who", arguments: {} })).toMatchObject(said("2025-06-18 roots"));

    const heard = client.heard.length;
    expect(await client.request("tools/call", { name: "log", arguments: {} })).toMatchObject(said("logged"));
    server.resourceUpdated(uri);
    await settled();
    expect(client.heard).toHaveLength(heard + 1);
  });

  it("ends no call: what is open is answered, and the old session serves until the new one is ready (I4)", async () => {
    const { server, hold } = setUp();
    const { client } = await serveLegacy(server, { revision: "2025-11-25" });
    client.say(call(1, "hold"));
    await client.request("initialize", hello("2025-06-18"));
    client.say(call(2, "who"));
    expect(await client.next()).toMatchObject({ id: 2, ...said("2025-11-25 ") });
    client.notify("notifications/initialized");
    client.say(call(3, "who"));
    expect(await client.next()).toMatchObject({ id: 3, ...said("2025-06-18 ") });
    hold.open();
    expect(await client.next()).toMatchObject({ id: 1, ...said("held") });
  });

  it("that is refused leaves the old session as it was (I4)", async () => {
    const { server } = setUp();
    const { client } = await serveLegacy(server, { revision: "2025-11-25" });
    expect(await client.request("initialize", {})).toMatchObject({ error: { code: -32602 } });
    client.notify("notifications/initialized");
    client.say(call(1, "who"));
    expect(await client.next()).toMatchObject({ id: 1, ...said("2025-11-25 ") });
  });

  it("is accepted before the first one is complete (I4)", async () => {
    const { server } = setUp();
    const { client } = serve(server);
    client.say(request(1, "initialize", hello("2025-11-25")), request(2, "initialize", hello("2025-06-18")));
    expect([await client.next(), await client.next()]).toMatchObject([
      { id: 1, result: { protocolVersion: "2025-11-25" } },
      { id: 2, result: { protocolVersion: "2025-06-18" } },
    ]);
    client.notify("notifications/initialized");
    client.say(call(3, "who"));
    expect(await client.next()).toMatchObject({ id: 3, ...said("2025-06-18 ") });
  });
});
