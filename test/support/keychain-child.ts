import { keychainTokens } from "../../src/auth/node/client.ts";

// One of several processes with the same tokens. Says what came of what it was told to do.

const [folder = "", verb = "", name = "", text = ""] = process.argv.slice(2);
const tokens = keychainTokens({ service: "plugbay-test", folder });

async function act(): Promise<unknown> {
  if (verb === "set") return tokens.set(name, text);
  return tokens.get(name);
}

const answer = await act().then(
  (value) => ({ value }),
  ({ code, message }) => ({ code, message }),
);
console.log(JSON.stringify(answer));
