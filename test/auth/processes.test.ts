import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { fileTokens, oauth } from "../../src/auth/node/client.ts";
import { connect } from "../../src/connect/connect.ts";
import { startProtected } from "./support/protected-server.ts";
import { startProvider } from "./support/provider.ts";
import { createUser } from "./support/user-agent.ts";

const run = promisify(execFile);

/** Another process with the same tokens. */
async function call(url: string, folder: string): Promise<string> {
  const script = fileURLToPath(new URL("support/refresh-child.ts", import.meta.url));
  const { stdout } = await run(process.execPath, ["--import", import.meta.resolve("tsx"), script, url, folder]);
  return stdout.trim();
}

it("processes whose token is refused at the same time refresh it once", async () => {
  await using issuer = await startProvider();
  await using server = await startProtected(issuer);
  const folder = mkdtempSync(join(tmpdir(), "plugbay-auth-"));
  try {
    const auth = oauth({
      tokens: fileTokens(folder),
      authorize: createUser().authorize,
      redirectUri: "http://127.0.0.1:4999/callback",
    });
    await using client = await connect(server.url, { auth });
    await client.callTool("read");
    server.block(server.taken.at(-1) ?? "", 3);
    issuer.gather(3);
    const answers = await Promise.all([call(server.url, folder), call(server.url, folder), client.callTool("read")]);
    expect(answers.slice(0, 2)).toEqual(Array.from({ length: 2 }, () => '[{"type":"text","text":"read"}]'));
    expect(issuer.grants).toEqual(["authorization_code", "refresh_token"]);
    expect(server.refused).toEqual([401, 401, 401, 401]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
