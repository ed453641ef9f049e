import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { runTools } from "../agent/run-tools.ts";
import { introspection, jwt } from "../auth/server/index.ts";
import { openHost } from "../host/index.ts";
import { openHost as openWebHost } from "../host/web.ts";
import { rateLimit } from "../middleware/index.ts";
import { createServer } from "../server/index.ts";
import { toFetchHandler } from "../transport/http/fetch-handler.ts";
import { toNodeHandler } from "../transport/node/node-handler.ts";
import { serveHttp } from "../transport/node/serve-http.ts";
import { serveStdio } from "../transport/node/stdio.ts";
import { connect, type Target } from "./index.ts";

const server = createServer({ name: "s", version: "1" });

/** Functions that take options, called without types, as JavaScript does. */
const functions: Readonly<Record<string, (options: object) => unknown>> = {
  serveHttp: (options) => serveHttp(server, { port: 0, ...options }),
  toFetchHandler: (options) => toFetchHandler(server, options),
  toNodeHandler: (options) => toNodeHandler(server, options),
  // Streams of its own, and no end of the process: they belong to whoever runs the tests.
  serveStdio: (options) =>
    serveStdio(server, { stdin: new PassThrough(), stdout: new PassThrough(), exit: false, ...options }),
  connect: (options) => connect(server, options),
  openHost: (options) => openHost({ s: server }, options),
  "openHost for the web": (options) => openWebHost({ s: server }, options),
};

describe("an unknown option", () => {
  it.each([
    ["serveHttp", "allowedHost", "allowedHosts"],
    ["serveHttp", "hostname", "host"],
    ["serveHttp", "authenticator", "auth"],
    ["toFetchHandler", "authentication", "auth"],
    ["toNodeHandler", "keepalive", "keepAliveMs"],
    ["serveStdio", "drain", "drainMs"],
    ["connect", "timeout", "timeoutMs"],
    ["connect", "header", "headers"],
    ["openHost", "policys", "policy"],
    ["openHost", "rules", undefined],
    ["openHost", "lockfile", "lock"],
    ["openHost for the web", "approve", "onApprove"],
  ])("of %s is refused: %s, not %s (T5)", async (name, option, meant) => {
    const owner = name.split(" ")[0];
    const hint = meant === undefined ? "its options are " : `did you mean "${meant}"?`;
    await expect(async () => functions[name]?.({ [option]: {} })).rejects.toMatchObject({
      code: "invalid-definition",
      message: expect.stringContaining(`${owner} has an unknown option "${option}"; ${hint}`),
      data: { member: option },
    });
  });

  it.each<[name: string, option: string, meant: string, call: (options: never) => unknown]>([
    ["jwt", "scopes", "requiredScopes", jwt],
    ["introspection", "requiredScope", "requiredScopes", introspection],
    ["rateLimit", "window", "windowMs", rateLimit],
    ["runTools", "maxTurn", "maxTurns", runTools],
  ])("of %s is refused: %s, not %s (T5)", async (owner, option, meant, call) => {
    await expect(async () => call({ [option]: 1 } as never)).rejects.toMatchObject({
      code: "invalid-definition",
      message: `${owner} has an unknown option "${option}"; did you mean "${meant}"?`,
    });
  });

  it.each(Object.keys(functions))("of %s that is undefined does no harm (T5)", async (name) => {
    const made = (await functions[name]?.({ unheardOf: undefined })) as { close(): Promise<void> };
    await made.close();
  });
});

describe("what is no server", () => {
  it.each<[name: string, serve: (service: never) => unknown]>([
    ["serveHttp", (service) => serveHttp(service, { port: 0 })],
    ["toNodeHandler", (service) => toNodeHandler(service)],
    ["toFetchHandler", (service) => toFetchHandler(service)],
  ])("is refused by %s", async (name, serve) => {
    for (const service of [undefined, {}]) {
      await expect(async () => serve(service as never)).rejects.toMatchObject({
        code: "invalid-definition",
        message: `${name} takes a server first, as createServer returns it`,
      });
    }
  });

  it("is not called the way of the official client", async () => {
    const target: Target = server;
    const client = await connect(target);
    await expect(client.callTool({ name: "add" } as never)).rejects.toMatchObject({
      code: "invalid-params",
      message: "callTool takes the name of a tool first: callTool(name, arguments, options)",
    });
    await client.close();
  });
});
