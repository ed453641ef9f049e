// A client that signs a user in, for any server that wants it:
//   node examples/sign-in.mjs https://mail.example/mcp          lists its tools
//   node examples/sign-in.mjs https://mail.example/mcp whoami   calls one of them
// A browser opens; where there is none, the URL to open is printed. For a server to
// try it with, see protected-server.mjs.
import { oauth } from "plugbay/auth/client";
import { connect } from "plugbay/client";

const [url, tool] = process.argv.slice(2);
await (url === undefined ? console.log("usage: node examples/sign-in.mjs URL [TOOL]") : signIn());

async function signIn() {
  const auth = oauth({
    clientName: "Sign-in example",
    signInTimeoutMs: 300_000,
    onEvent: ({ kind, issuer }) => console.log(`${kind} at ${issuer}`),
  });
  const client = await connect(url, { auth });
  console.log(`signed in to ${client.server.serverInfo.name}`);
  if (tool !== undefined) console.log(await client.tools[tool]({}));
  else for (const { name } of await client.listTools()) console.log(`  ${name}`);
  await client.close();
}
