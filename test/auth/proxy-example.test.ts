import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, it } from "vitest";
import { oauth } from "../../src/auth/node/client.ts";
import { connect } from "../../src/connect/connect.ts";
import { root, script } from "../e2e/support/places.ts";
import { run, textOf } from "../e2e/support/run.ts";
import { quietPort } from "../support/quiet-port.ts";
import { githubClient, startGithubLike } from "./support/github.ts";
import { proxyKey } from "./support/proxied-server.ts";
import { createUser } from "./support/user-agent.ts";

// The example as it is, with what looks like GitHub behind it.

const redirectUri = "http://127.0.0.1:4999/callback";

it("examples/oauth-proxy.mjs signs its users in, and nobody else (Q14, Q16)", async () => {
  await using provider = await startGithubLike();
  const PORT = String(await quietPort());
  const env = {
    GITHUB_ID: githubClient.clientId,
    GITHUB_SECRET: githubClient.clientSecret,
    GITHUB_URL: provider.url,
    PROXY_KEY: proxyKey(),
    USERS: "octocat,hubot",
    PORT,
  };
  const { command, args } = script("examples/oauth-proxy.mjs");
  const child = spawn(command, args, { cwd: root, stdio: "pipe", env: { PATH: "", ...env } });
  const ended = once(child, "close");
  const [stdout, stderr] = [textOf(child.stdout), textOf(child.stderr)];
  try {
    while (!stdout().includes("listening on")) {
      if (child.exitCode !== null) throw new Error(stderr());
      await Promise.race([once(child.stdout, "data"), ended]);
    }
    const url = `http://127.0.0.1:${PORT}/mcp`;
    const auth = oauth({ authorize: createUser().authorize, redirectUri });
    await using client = await connect(url, { auth });
    expect(await client.callTool("whoami")).toMatchObject({ content: [{ text: "octocat, who may profile:read" }] });
    expect(await client.callTool("profile")).toMatchObject({ content: [{ text: "The octocat (octocat)" }] });
    provider.login = "mallory";
    const refused = connect(url, { auth: oauth({ authorize: createUser().authorize, redirectUri }) });
    await expect(refused).rejects.toMatchObject({ code: "unauthorized", data: { reason: "denied" } });
  } finally {
    child.kill();
    await ended;
  }
  expect(stderr()).toBe("");
});

it("examples/oauth-proxy.mjs names the variable that is missing", async () => {
  process.env.GITHUB_ID = githubClient.clientId;
  try {
    const { code, stderr } = await run(script("examples/oauth-proxy.mjs"));
    expect(code).toBe(1);
    expect(stderr).toContain("github: clientSecret is undefined; give it, or set the variable it comes from");
  } finally {
    delete process.env.GITHUB_ID;
  }
});
