import { published } from "../lib/published.mjs";
import { pump } from "../lib/pump.mjs";
import { slowDown } from "../lib/slow-down.mjs";
import { manyTools, schemaOf } from "../lib/tools.mjs";

async function create(count = 3) {
  const { createServer, tool } = await published("plugbay/server");
  const tools = manyTools(count).map(({ name, description, run, ...rest }) => [
    name,
    tool({ description, input: schemaOf(rest), run: slowDown(run) }),
  ]);
  return createServer({ name: "bench", version: "1.0.0", listChanged: true, tools: Object.fromEntries(tools) });
}

export async function http({ mode, answer, tools }) {
  const { serveHttp } = await published("plugbay/http");
  const server = await create(tools);
  const { port } = await serveHttp(server, {
    port: 0,
    sessions: mode !== "stateless",
    respondWith: answer === "sse" ? "sse" : "auto",
  });
  return { facts: { port }, broadcast: () => server.listChanged("tools") };
}

export async function stdio() {
  const { serveStdio } = await published("plugbay/stdio");
  serveStdio(await create());
}

export async function inProcess() {
  const { connect } = await published("plugbay/client");
  return pumped(await connect(await create()));
}

export async function httpClient({ url, revision }) {
  const { connect } = await published("plugbay/client");
  return pumped(await connect(url, { revision }));
}

export async function stdioClient({ command, revision }) {
  const { connect } = await published("plugbay/client");
  return pumped(await connect(command, { revision }));
}

function pumped(client) {
  const call = async (a, b) => (await client.callTool("add", { a, b })).content[0].text;
  return { pump: (inFlight, ms) => pump(call, inFlight, ms) };
}
