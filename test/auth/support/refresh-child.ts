import { fileTokens, keychainTokens, oauth } from "../../../src/auth/node/client.ts";
import { connect } from "../../../src/connect/connect.ts";

// One of several processes with the same tokens. Says what the server answered.

const [url = "", folder = "", service] = process.argv.slice(2);
const tokens = service === undefined ? fileTokens(folder) : keychainTokens({ service, folder });
const authorize = (): never => {
  throw new Error("nobody is to be asked");
};
const auth = oauth({ tokens, authorize, redirectUri: "http://127.0.0.1:4999/callback" });
const client = await connect(url, { auth });
console.log(JSON.stringify((await client.callTool("read")).content));
await client.close();
