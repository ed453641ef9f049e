import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { type AddressInfo, connect as connectSocket } from "node:net";
import { describe, expect, it } from "vitest";
import { type Client, connect } from "../../src/connect/index.ts";
import { discovered, welcome } from "../support/connected.ts";
import { root } from "./support/places.ts";
import { run } from "./support/run.ts";

// Our client over sockets, against servers that misbehave.

const texts = (text: string) => ({ content: [{ type: "text", text }] });

async function call(client: Client, name: string, args = {}): Promise<string> {
  const { content } = await client.callTool(name, args);
  return content.map((block) => ("text" in block ? block.text : "")).join("");
}

/** A server that does what the test says, and where it is. */
async function serving(listener: RequestListener) {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Answers every request of a client as this says. */
function answering(results: (message: { method: string; id: number }) => object | undefined): RequestListener {
  return async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    if (request.method !== "POST") return void response.writeHead(405).end();
    const message = JSON.parse(body);
    const result = results(message);
    if (message.id === undefined) response.writeHead(202).end();
    else if (result === undefined) response.writeHead(400).end();
    else {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, result }));
    }
  };
}

const modern = answering(({ method }) => {
  if (method === "server/discover") return discovered();
  return { resultType: "complete", content: [{ type: "text", text: "ok" }] };
});

const legacy = answering(({ method }) => {
  if (method === "server/discover") return undefined;
  return method === "initialize" ? welcome("2025-11-25") : { content: [{ type: "text", text: "ok" }] };
});

describe("a server that redirects", () => {
  it("to another origin is not followed: nothing is sent there", async () => {
    let contacts = 0;
    await using other = await serving((_, response) => {
      contacts++;
      response.end();
    });
    await using server = await serving((_, response) => response.writeHead(307, { location: other.url }).end());
    await expect(connect(server.url, { headers: { authorization: "Bearer secret" } })).rejects.toMatchObject({
      code: "http-error",
      message: expect.stringContaining("another origin"),
    });
    expect(contacts).toBe(0);
  });

  it("within its origin is followed", async () => {
    await using server = await serving((request, response) => {
      if (request.url === "/mcp") response.writeHead(308, { location: "/real" }).end();
      else modern(request, response);
    });
    await using client = await connect(server.url);
    expect(await call(client, "a")).toBe("ok");
  });
});

describe("a server that is not well", () => {
  it("and is not there, is named without what is secret", async () => {
    await using nobody = await deadPort();
    const { port } = nobody;
    await expect(connect(`http://127.0.0.1:${port}/mcp?key=secret`)).rejects.toMatchObject({
      code: "connection-closed",
      message: `no answer from http://127.0.0.1:${port}: the connection was refused; is the server running?`,
    });
  });

  it("and answers without end, fails the call and nothing else", async () => {
    await using server = await serving((request, response) => {
      if (request.headers["mcp-name"] !== "flood") return modern(request, response);
      response.writeHead(200, { "content-type": "text/event-stream" });
      const fill = () => {
        while (!response.destroyed && response.write("data: ".padEnd(65_536, "x")));
        response.once("drain", fill);
      };
      response.on("error", () => {});
      fill();
    });
    await using client = await connect(server.url, { limits: { maxMessageBytes: 1_000_000 } });
    await expect(client.callTool("flood")).rejects.toMatchObject({ code: "limit-reached" });
    expect(await call(client, "a")).toBe("ok");
  });

  it("and has forgotten the session, is greeted again", async () => {
    const sessions: string[] = [];
    await using server = await serving((request, response) => {
      const id = request.headers["mcp-session-id"];
      if (id !== undefined && id !== sessions.at(-1)) return void response.writeHead(404).end();
      if (id === undefined) {
        sessions.push(`s${sessions.length}`);
        response.setHeader("mcp-session-id", sessions.at(-1) ?? "");
      }
      legacy(request, response);
    });
    await using client = await connect(server.url, { revision: "2025-11-25" });
    expect(await call(client, "a")).toBe("ok");
    sessions.push("lost");
    expect(await Promise.all([call(client, "a"), call(client, "b")])).toEqual(["ok", "ok"]);
    expect(sessions).toEqual(["s0", "lost", "s2"]);
  });
});

describe("a program that has called a server", () => {
  it.each([
    ["modern", modern, ""],
    ["legacy, closed", legacy, "await client.close();"],
  ])("ends by itself: %s", async (_what, listener, end) => {
    await using server = await serving(listener);
    const program = `
      import { connect } from "${root}/dist/connect/index.js";
      const client = await connect("${server.url}");
      console.log((await client.callTool("a")).content[0].text);
      ${end}
    `;
    const args = ["--input-type=module", "-e", program];
    const { code, stdout, stderr } = await run({ command: process.execPath, args });
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: "ok\n", stderr: "" });
  });

  it("does not end while a stream has to be opened again", async () => {
    let gets = 0;
    await using server = await serving((request, response) => {
      if (request.headers["last-event-id"] === "1") {
        gets++;
        response.writeHead(200, { "content-type": "text/event-stream" });
        return void response.end(`data: ${JSON.stringify({ jsonrpc: "2.0", id: 3, result: texts("late") })}\n\n`);
      }
      let body = "";
      request.on("data", (chunk) => {
        body += chunk;
      });
      request.on("end", () => {
        if (!body.includes("tools/call")) return replay(request, body, response);
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.end("id: 1\nretry: 100\ndata:\n\n");
      });
    });
    const program = `
      import { connect } from "${root}/dist/connect/index.js";
      const client = await connect("${server.url}");
      console.log((await client.callTool("a")).content[0].text);
      await client.close();
    `;
    const args = ["--input-type=module", "-e", program];
    expect(await run({ command: process.execPath, args })).toMatchObject({ code: 0, stdout: "late\n" });
    expect(gets).toBe(1);
  });
});

/** Gives a request whose body was read to a listener that wants to read it. */
function replay(
  { method, headers }: Parameters<RequestListener>[0],
  body: string,
  response: Parameters<RequestListener>[1],
): void {
  const again = {
    method,
    headers,
    [Symbol.asyncIterator]: async function* () {
      yield body;
    },
  };
  void legacy(again as never, response as never);
}

/** A port where nobody listens, and nobody will: it is the near end of a connection. */
async function deadPort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const socket = connectSocket((server.address() as AddressInfo).port, "127.0.0.1");
  await once(socket, "connect");
  return {
    port: socket.localPort,
    async [Symbol.asyncDispose]() {
      socket.destroy();
      server.close();
    },
  };
}
