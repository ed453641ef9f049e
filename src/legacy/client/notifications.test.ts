import { describe, expect, it } from "vitest";
import { httpLegacy } from "../../../test/support/http-connected.ts";

const changed = "notifications/roots/list_changed";

describe("what a legacy server is told over a connection that breaks", () => {
  it("is told again, for nobody else would notice", async () => {
    const { http, client, warn, clock } = await httpLegacy({ roots: [] });
    client.setRoots([{ uri: "file:///b" }]);
    const first = await http.expect(changed);
    first.fail(new Error("reset"));
    await clock.advanceAsync(250);
    const second = await http.expect(changed);
    expect(second.body).toBe(first.body);
    second.reply(202);
    await clock.advanceAsync(60_000);
    expect(http.said().filter((method) => method === changed)).toHaveLength(2);
    expect(warn).not.toHaveBeenCalled();
  });

  it("is given up when it breaks again and again, with a warning", async () => {
    const { http, client, warn, clock } = await httpLegacy({ roots: [] });
    client.setRoots([{ uri: "file:///b" }]);
    for (let attempt = 0; attempt < 4; attempt++) {
      (await http.expect(changed)).fail(new Error("reset"));
      await clock.advanceAsync(1_000);
    }
    await clock.advanceAsync(60_000);
    expect(http.said().filter((method) => method === changed)).toHaveLength(4);
    expect(warn.mock.calls).toMatchObject([[{ kind: "not-honoured", message: expect.stringContaining("reset") }]]);
  });

  it("is not told again to a server that was left", async () => {
    const { http, client, warn, clock } = await httpLegacy({ roots: [] });
    client.setRoots([{ uri: "file:///b" }]);
    (await http.expect(changed)).fail(new Error("reset"));
    await clock.advanceAsync(0);
    void client.close();
    await clock.advanceAsync(60_000);
    expect(http.said().filter((method) => method === changed)).toHaveLength(1);
    expect(warn).not.toHaveBeenCalled();
  });
});

describe("a stream that the server believes to be open still", () => {
  it("is opened again as soon as it believes so no longer", async () => {
    const { http, clock, warn } = await httpLegacy();
    (await http.expect("GET")).stream().break();
    await clock.advanceAsync(250);
    (await http.expect("GET")).reply(409);
    await clock.advanceAsync(5_000);
    (await http.expect("GET")).stream();
    expect(warn).not.toHaveBeenCalled();
  });
});
