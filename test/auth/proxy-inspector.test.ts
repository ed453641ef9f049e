import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { installed, root } from "../e2e/support/places.ts";
import { textOf } from "../e2e/support/run.ts";
import { quietPort } from "../support/quiet-port.ts";
import { type DocumentServer, startDocumentServer } from "./support/document-server.ts";
import { type GithubLike, idOf, startGithubLike } from "./support/github.ts";
import { type ProxyProcess, startProxyProcess } from "./support/proxy-process.ts";
import { createUser } from "./support/user-agent.ts";

// The command line of the official inspector, which says where to sign in and waits on this machine.

/** It starts slowly, and more so where others work. */
const limitMs = 180_000;

let provider: GithubLike;
let documents: DocumentServer;
let server: ProxyProcess;
beforeAll(async () => {
  [provider, documents] = await Promise.all([startGithubLike(), startDocumentServer()]);
  server = await startProxyProcess({ provider: provider.url, ca: documents.ca });
}, limitMs);
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await documents[Symbol.asyncDispose]();
  await provider[Symbol.asyncDispose]();
});

it.each(["registration", "a metadata document"])(
  "the inspector signs in by %s and calls a tool (Q14)",
  async (way) => {
    const home = mkdtempSync(join(tmpdir(), "plugbay-inspector-"));
    const redirectUri = `http://127.0.0.1:${await quietPort()}/oauth/callback`;
    const document = { client_name: "Inspector", redirect_uris: [redirectUri] };
    const more =
      way === "registration" ? [] : ["--client-metadata-url", documents.publish("/inspector.json", document)];
    const call = ["--method", "tools/call", "--tool-name", "whoami", "--callback-url", redirectUri, ...more];
    const { command, args } = installed("mcp-inspector", "--cli", server.url, ...call);
    // Nothing that opens a browser can be found.
    const env = { HOME: home, PATH: "", MCP_AUTO_OPEN_ENABLED: "true" };
    const child = spawn(command, args, { cwd: root, env, stdio: "pipe" });
    const [stdout, stderr] = [textOf(child.stdout), textOf(child.stderr)];
    const ended = once(child, "close");
    try {
      let url: string | undefined;
      while (url === undefined) {
        [, url] = /navigate to: (\S+)/.exec(stderr()) ?? [];
        if (child.exitCode !== null) throw new Error(`the inspector has ended: ${stderr()}`);
        if (url === undefined) await Promise.race([once(child.stderr, "data"), ended]);
      }
      const user = createUser();
      await fetch(await user.authorize(new URL(url), { redirectUri }));
      expect(await ended).toEqual([0, null]);
      expect(JSON.parse(stdout())).toMatchObject({ content: [{ text: `${provider.url}#${idOf("octocat")}` }] });
      expect(user.titles[0]).toMatch(/^Allow .*Inspector.* to use 127/);
    } finally {
      child.kill("SIGKILL");
      await ended;
      rmSync(home, { recursive: true, force: true });
    }
  },
  limitMs,
);
