// A server as it runs in production, on this machine: nginx in front of two processes
// on one store, users who sign in with an identity provider, machines with tokens of
// another one, metrics, traces, an audit, and an end that loses nothing. Start it from
// a clone, after `npm ci && npm run build`, with:
//   node examples/production/start.mjs
// docs/production.md says what each part is for. Variables, all optional:
//   PORT            where nginx listens, 8080
//   STORE           such as redis://127.0.0.1; without it a Redis is started, or SQLite is used
//   MACHINE_SECRET  what the client "restocker" proves itself with, for tokens of a machine
import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { findNginx, startNginx } from "./nginx.mjs";
import { openFolder, startProcess } from "./processes.mjs";
import { chooseStore } from "./store.mjs";

const { PORT = "8080", STORE, MACHINE_SECRET } = process.env;
const origin = `http://127.0.0.1:${PORT}`;
const random = () => randomBytes(32).toString("base64url");

const folder = await openFolder();
const running = { servers: [] };

async function start() {
  const program = await findNginx();
  running.store = await chooseStore(STORE, folder);

  // In production this is GitHub, Google, Entra ID, or the provider of your company.
  const clientSecret = random();
  running.identity = startProcess("identity", "identity-provider.mjs", {
    PUBLIC_ORIGIN: origin,
    CLIENT_SECRET: clientSecret,
    MACHINE_SECRET: MACHINE_SECRET || random(),
  });
  const { users, machines } = await running.identity.ready;

  // From your secret store, the same in every process.
  const secrets = { CLIENT_SECRET: clientSecret, PROXY_KEY: random(), PLUGBAY_STATE_KEYS: random() };
  const places = { STORE: running.store.url, PUBLIC_ORIGIN: origin, USER_ISSUER: users, MACHINE_ISSUER: machines };
  running.servers = ["one", "two"].map((name) => startProcess(name, "server.mjs", { ...secrets, ...places }));
  const servers = await Promise.all(running.servers.map(({ ready }) => ready));
  running.nginx = await startNginx({ program, port: PORT, servers, folder });

  for (const [at, { port }] of servers.entries()) {
    const { name, pid } = running.servers[at];
    console.log(`server ${name}: process ${pid}, http://127.0.0.1:${port}/metrics, /healthz and /readyz`);
  }
  console.log(`tokens for machines: ${machines}/token`);
  console.log(`ready: sign in with  node examples/sign-in.mjs ${origin}/mcp whoami`);
}

/** Ends the servers first: until then nginx hands on what they answer, and the streams that they end. */
async function stop() {
  await Promise.all(running.servers.map((server) => server.stop()));
  for (const part of [running.nginx, running.identity, running.store]) await part?.stop();
  await rm(folder, { recursive: true, force: true });
}

const started = start().catch(async (error) => {
  console.error(error.message);
  process.exitCode = 1;
  await stop();
});
let isEnding = false;
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.on(signal, () => {
    if (!isEnding) void started.then(() => process.exitCode || stop());
    isEnding = true;
  });
}
