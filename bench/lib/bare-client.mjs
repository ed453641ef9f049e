import { spawn } from "node:child_process";
import { Agent, request as send } from "node:http";
import { lineSplitter } from "./line-splitter.mjs";
import { add, initialize, LEGACY } from "./messages.mjs";

const commonHeaders = {
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
  "mcp-protocol-version": LEGACY,
};

/** Calls over `node:http` with an agent that keeps connections: what no client on it can be faster than. */
export async function bareHttpClient(url) {
  const agent = new Agent({ keepAlive: true });
  const { hostname, port, pathname: path } = new URL(url);
  let headers = commonHeaders;

  const post = (body) =>
    new Promise((resolve, reject) => {
      const length = { "content-length": Buffer.byteLength(body) };
      const options = { agent, hostname, port, path, method: "POST", headers: { ...headers, ...length } };
      const request = send(options, (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (chunk) => {
          text += chunk;
        });
        response.on("end", () => resolve({ response, text }));
      });
      request.on("error", reject);
      request.end(body);
    });

  const { response } = await post(initialize(0));
  headers = { ...headers, "mcp-session-id": response.headers["mcp-session-id"] };
  return async (a) => JSON.parse((await post(add(a, "legacy"))).text).result.content[0].text;
}

/** Calls over the pipes of a child, all calls of a turn in one write. */
export function bareStdioClient([command, ...args]) {
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  const waiting = new Map();
  let out = "";
  child.stdout.on(
    "data",
    lineSplitter((line) => {
      const { id, result } = JSON.parse(line);
      const resolve = waiting.get(id);
      waiting.delete(id);
      resolve(result);
    }),
  );
  const flush = () => {
    child.stdin.write(out);
    out = "";
  };
  const request = (id, text) =>
    new Promise((resolve) => {
      waiting.set(id, resolve);
      if (out === "") queueMicrotask(flush);
      out += `${text}\n`;
    });
  return async (a) => (await request(a, add(a, "legacy"))).content[0].text;
}
