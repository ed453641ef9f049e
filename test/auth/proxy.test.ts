import { describe, expect, it } from "vitest";
import { memoryTokens, oauth } from "../../src/auth/node/client.ts";
import { connect } from "../../src/connect/connect.ts";
import { startOidcWorld } from "./support/proxied-server.ts";
import { createUser, type UserOptions } from "./support/user-agent.ts";

// Our client, our server with a proxy, and somebody else's OpenID provider behind it.

const redirectUri = "http://127.0.0.1:4999/callback";

function signingIn(options: UserOptions = {}) {
  const user = createUser(options);
  const tokens = memoryTokens();
  return { user, tokens, auth: oauth({ authorize: user.authorize, redirectUri, tokens, clientName: "Test client" }) };
}

const textOf = ({ content }: { readonly content: readonly unknown[] }): string =>
  String((content[0] as { readonly text?: string }).text);

describe.each(["2025-11-25", "2026-07-28"] as const)("a client of %s", (revision) => {
  it("registers itself, signs a user in with an OpenID provider, and calls a tool", async () => {
    await using world = await startOidcWorld();
    const { user, auth } = signingIn();
    await using client = await connect(world.server.url, { auth, revision });
    const who = JSON.parse(textOf(await client.callTool("whoami")));
    expect(who).toMatchObject({
      principal: `${world.issuer.issuer}#ann`,
      scopes: ["orders:read", "orders:write"],
      claims: { iss: world.issuer.issuer, sub: "ann", email: "ann@example.com", name: "ann" },
    });
    expect(textOf(await client.callTool("write"))).toBe("written");
    expect(user.titles[0]).toMatch(/^Allow Test client to use 127\.0\.0\.1:\d+\?$/);
    expect(world.issuer.grants).toEqual(["authorization_code"]);
    expect(world.server.warnings).toEqual([]);
  });
});
