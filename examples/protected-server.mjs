// A server that takes tokens, and a tool that takes a scope. With an authorization
// server, which needs to know this one by its URL, it serves until it is stopped:
//   ISSUER=https://login.example AUDIENCE=http://127.0.0.1:3000/mcp PORT=3000 node examples/protected-server.mjs
// Without, it makes tokens on the spot and shows what they are good for.
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { jwt } from "plugbay/auth/server";
import { connect } from "plugbay/client";
import { serveHttp } from "plugbay/http";
import { createServer, tool } from "plugbay/server";

const vault = createServer({
  name: "vault",
  version: "1.0.0",
  tools: {
    whoami: tool({ run: (_, { auth }) => `${auth.claims.sub}, who may ${auth.scopes.join(" and ")}` }),
    open: tool({ scopes: ["vault:open"], run: () => "It is open." }),
  },
});

const { ISSUER, AUDIENCE, PORT = "3000" } = process.env;
await (ISSUER && AUDIENCE ? serve(ISSUER, AUDIENCE) : show());

/** The keys of the issuer are found by themselves, and clients find out from the server where to sign in. */
async function serve(issuer, audience) {
  const auth = jwt({ issuer, audience, requiredScopes: ["vault:see"] });
  const { url } = await serveHttp(vault, { port: Number(PORT), auth, signals: true });
  console.log(`listening on ${url}`);
}

async function show() {
  const issuer = "https://login.example";
  const audience = "https://vault.example/mcp";
  const { privateKey, publicKey } = await generateKeyPair("ES256");
  const jwks = { keys: [{ ...(await exportJWK(publicKey)), alg: "ES256" }] };

  const auth = jwt({ issuer, audience, jwks, requiredScopes: ["vault:see"] });
  const serving = await serveHttp(vault, { port: 0, auth });

  /** What an authorization server would do when Ann has logged in. */
  const tokenFor = (scope) =>
    new SignJWT({ iss: issuer, aud: audience, sub: "ann", scope })
      .setProtectedHeader({ alg: "ES256", typ: "at+jwt" })
      .setIssuedAt()
      .setExpirationTime("5m")
      .sign(privateKey);

  const stranger = await fetch(serving.url, {
    method: "POST",
    headers: { accept: "*/*", "content-type": "application/json" },
    body: "{}",
  });
  console.log(`a stranger gets ${stranger.status}: ${stranger.headers.get("www-authenticate")}`);

  for (const scope of ["vault:see", "vault:see vault:open"]) {
    const headers = { authorization: `Bearer ${await tokenFor(scope)}` };
    const client = await connect(serving.url, { headers });
    console.log(await client.tools.whoami({}));
    console.log(await client.tools.open({}).catch(({ code, message }) => `${code}: ${message}`));
    await client.close();
  }
  await serving.close();
}
