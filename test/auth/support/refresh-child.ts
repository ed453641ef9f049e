import { fileTokens, oauth } from "../../../src/auth/node/client.ts";
import { connect } from "../../../src/connect/connect.ts";

// One of several processes with the same tokens. Says what the server answered.

const [url = "", folder = ""] = process.argv.slice(2);
const authorize = (): never => {
  throw new Error("nobody is to be asked");
};
const auth = oauth({ tokens: fileTokens(folder), authorize, redirectUri: "http://127.0.0.1:4999/callback" });
const client = await connect(url, { auth });
console.log(JSON.stringify((await client.callTool("read")).content));
await client.close();
