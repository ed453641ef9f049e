import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { audience, createFakeIssuer, withToken } from "../../../test/support/tokens.ts";
import { introspection, jwt } from "./server.ts";

// An issuer on this machine whose metadata names a host that is public by its name, and elsewhere by its address.

const { resolved } = vi.hoisted(() => ({ resolved: [] as string[] }));

vi.mock("node:dns", () => ({
  lookup(hostname: string, _: object, done: (error: null, found: readonly object[]) => void) {
    resolved.push(hostname);
    // It is on no public network, and nobody listens there.
    done(null, [{ address: "0.0.0.0", family: 4 }]);
  },
}));

const place = "https://keys.example:1/x";
let issuer = "";
const site = createServer((_, response) => {
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify({ issuer, jwks_uri: place, introspection_endpoint: place }));
});
beforeAll(async () => {
  await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
  issuer = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
});
afterAll(() => new Promise<void>((resolve) => site.close(() => resolve())));

const notAllowed = { code: "invalid-response", data: { reason: "address-not-allowed" } };
const nobodyThere = { code: "connection-closed", message: "no answer from https://keys.example:1: ECONNREFUSED" };

describe("a host that an issuer names", () => {
  const helpers = {
    jwt: (more: object) => jwt({ issuer, audience, ...more }),
    introspection: (more: object) => introspection({ issuer, audience, clientId: "a", clientSecret: "b", ...more }),
  };

  it.each(["jwt", "introspection"] as const)("is asked by %s only at an address that is allowed", async (name) => {
    const request = withToken(await (await createFakeIssuer(issuer)).token());
    resolved.length = 0;
    await expect(helpers[name]({})(request)).rejects.toMatchObject(notAllowed);
    await expect(helpers[name]({ allowPrivateNetwork: true })(request)).rejects.toMatchObject(nobodyThere);
    expect(resolved).toEqual(["keys.example", "keys.example"]);
  });

  it("may be on a private network when the operator names it", async () => {
    const request = withToken(await (await createFakeIssuer(issuer)).token());
    await expect(helpers.jwt({ jwks: place })(request)).rejects.toMatchObject(nobodyThere);
  });
});
