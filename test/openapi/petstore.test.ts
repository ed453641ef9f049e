import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bearer } from "../../src/auth/node/server.ts";
import { connect } from "../../src/connect/index.ts";
import { type OpenApiAuth, openApi, openGateway } from "../../src/gateway/index.ts";
import { openHost } from "../../src/host/index.ts";
import { createManualClock } from "../../src/testing/index.ts";
import { serveHttp } from "../../src/transport/node/http.ts";
import { openPetstore, type Petstore } from "../fixtures/petstore/api.ts";

const document = "test/fixtures/petstore/petstore.yaml";
const keys: Readonly<Record<string, string>> = { ann: "key-of-ann", bob: "key-of-bob" };

/** The key of the caller, or of nobody in particular. */
const auth: OpenApiAuth = ({ type, scheme, scopes }, { auth: caller }) => {
  if (scheme === "basic") return { username: "me", password: "pass-word" };
  return type === "oauth2" ? `token for ${scopes.join(" ")}` : (keys[caller?.principal ?? ""] ?? "key-of-all");
};

let api: Petstore;
let elsewhere: Petstore;
beforeAll(async () => {
  elsewhere = await openPetstore();
  api = await openPetstore(new URL(elsewhere.url).origin);
});
afterAll(async () => {
  await api[Symbol.asyncDispose]();
  await elsewhere[Symbol.asyncDispose]();
});

const open = (options: object = {}) => openApi(document, { baseUrl: api.url, auth, ...options });
const last = () => api.seen.at(-1);

describe.each(["2026-07-28", "2025-11-25"] as const)("an API, by a client of %s", (revision) => {
  const call = async (name: string, args: object = {}, options: object = {}) => {
    await using client = await connect(await open(options), { revision });
    return await client.callTool(name, args);
  };

  it("gives JSON as structured content, and text beside it", async () => {
    expect(await call("getPet", { id: "1" })).toEqual({
      content: [{ type: "text", text: '{"id":1,"name":"Rex","tag":null,"owner":"bob"}' }],
      structuredContent: { id: 1, name: "Rex", tag: null, owner: "bob" },
    });
    expect(await call("listPets", { limit: 3 })).toEqual({
      content: [{ type: "text", text: '[{"id":1,"name":"Rex"}]' }],
    });
    expect(last()).toMatchObject({ url: "/v1/pets?limit=3", headers: { "x-api-key": "key-of-all" } });
  });

  it("takes bodies as JSON, forms and parts", async () => {
    expect(await call("addPet", { body: { name: "Rex" } })).toMatchObject({
      structuredContent: { id: 2, name: "Rex" },
    });
    expect(await call("search", { body: { q: "a b&c", tags: ["x", "y"] } })).toMatchObject({
      structuredContent: { type: "application/x-www-form-urlencoded", body: "q=a+b%26c&tags=x&tags=y" },
    });
    const photo = Buffer.from([0, 255, 13, 10]);
    await call("addPhoto", { id: "1", body: { title: "Rex", sizes: { width: 1 }, photo: photo.toString("base64") } });
    const { body = Buffer.of(), headers } = last() ?? {};
    const form = await new Response(new Uint8Array(body), {
      headers: { "content-type": headers?.["content-type"] ?? "" },
    }).formData();
    expect(form.get("title")).toBe("Rex");
    expect(form.get("sizes")).toBe('{"width":1}');
    expect(Buffer.from(await (form.get("photo") as File).arrayBuffer())).toEqual(photo);
  });

  it("gives text, pictures and other bytes as content", async () => {
    expect(await call("notes")).toEqual({ content: [{ type: "text", text: "café" }] });
    expect(await call("getPhoto", { id: "1" })).toEqual({
      content: [{ type: "image", mimeType: "image/png", data: "iVBORw0KGgo=" }],
    });
    const resource = { uri: `${api.url}/archive`, mimeType: "application/zip", blob: "iVBORw0KGgo=" };
    expect(await call("archive")).toEqual({ content: [{ type: "resource", resource }] });
    expect(last()?.headers.authorization).toBe(`Basic ${btoa("me:pass-word")}`);
    expect(await call("removePet", { id: "1" })).toEqual({ content: [{ type: "text", text: "HTTP 204 No Content" }] });
    expect(last()?.headers.authorization).toBe("Bearer token for pets:write");
  });

  it("tells the model of a status that is an error, with the beginning of the body and without credentials", async () => {
    const { isError, content } = await call("getPet", { id: "none" });
    expect(isError).toBe(true);
    expect(content[0]).toMatchObject({ text: expect.stringMatching(/^HTTP 404 Not Found\n\{"problem":"x+…$/) });
    expect(JSON.stringify(content).length).toBeLessThan(5_000);
    expect(await call("getPet", { id: "secret" })).toEqual({
      content: [{ type: "text", text: 'HTTP 403 Forbidden\n{"problem":"the key *** is not enough"}' }],
      isError: true,
    });
    expect(JSON.stringify(await call("echo"))).not.toContain("key-of-all");
  });

  it("tells the model of a response that is not what the document says", async () => {
    const { isError, content } = await call("getPet", { id: "odd" });
    expect(isError).toBe(true);
    expect(content).toMatchObject([
      { text: expect.stringMatching(/^the response is not what the OpenAPI document describes: .*name/) },
      { text: '{"id":"one"}' },
    ]);
  });

  it.each(["..", ".", "", "%2e%2e"])("is not asked at another path for the argument %j", async (id) => {
    const before = api.seen.length;
    const result = await call("removePet", { id });
    if (id === "%2e%2e") expect(last()?.url).toBe("/v1/pets/%252e%252e");
    else {
      expect(result.isError).toBe(true);
      expect(api.seen).toHaveLength(before);
    }
  });

  it("gets arguments that stay what they are", async () => {
    await call("getPet", { id: "../x?y=1#z/é;\\" });
    expect(last()?.url).toBe("/v1/pets/..%2Fx%3Fy%3D1%23z%2F%C3%A9%3B%5C");
    expect((await call("getPet", { id: "\ud800" })).isError).toBe(true);
  });

  it("sends credentials to no other origin", async () => {
    const { isError, content } = await call("away");
    expect(isError).toBe(true);
    expect(content).toMatchObject([{ text: expect.stringMatching(/redirects to another origin/) }]);
    expect(elsewhere.seen).toEqual([]);
  });

  it("is given up after its time, and read no further than its size", async () => {
    expect(await call("huge", {}, { maxResponseBytes: 1_000 })).toMatchObject({
      isError: true,
      content: [
        { text: expect.stringMatching(/^huge: the answer of http:\/\/127\.0\.0\.1:\d+ is longer than 1000 bytes/) },
      ],
    });
    const clock = createManualClock();
    await using client = await connect(await open({ timeoutMs: 5_000, server: { clock } }), { revision });
    const before = api.seen.length;
    const slow = client.callTool("slow");
    await expect.poll(() => api.seen.length).toBe(before + 1);
    await clock.advance(5_000);
    expect(await slow).toMatchObject({ isError: true, content: [{ text: expect.stringMatching(/within 5000 ms/) }] });
  });

  it("hears of a caller that gives up", async () => {
    await using store = await openPetstore();
    await using client = await connect(await open({ baseUrl: store.url }), { revision });
    const over = new AbortController();
    const slow = client.callTool("slow", {}, { signal: over.signal });
    await expect.poll(() => store.seen.length).toBe(1);
    over.abort();
    await expect(slow).rejects.toMatchObject({ code: "cancelled" });
    await store.left;
  });

  it("has GET operations as resources where that is wanted", async () => {
    await using client = await connect(await open({ resources: true, include: ["GET *"] }), { revision });
    const uris = (await client.listResources()).map(({ uri }) => uri);
    expect(uris).toContain("openapi://pet-store/notes");
    expect(uris).not.toContain("openapi://pet-store/pets/{id}");
    expect(await client.readResource("openapi://pet-store/notes")).toMatchObject({
      contents: [{ uri: "openapi://pet-store/notes", mimeType: "text/plain", text: "café" }],
    });
  });

  it("is behind a gateway the API of each user", async () => {
    const gateway = await openGateway({ pets: { target: await open() } });
    const served = await serveHttp(gateway, { port: 0, auth: bearer((token) => ({ principal: token })) });
    try {
      for (const user of ["ann", "bob"]) {
        const headers = { authorization: `Bearer ${user}` };
        await using client = await connect(`${served.url}`, { revision, headers });
        expect(await client.callTool("pets:getPet", { id: "1" })).toMatchObject({ structuredContent: { owner: user } });
        expect(last()?.headers["x-api-key"]).toBe(keys[user]);
      }
    } finally {
      await served.close();
      await gateway.close();
    }
  });
});

describe("a configuration file", () => {
  it("has APIs and modules as servers", async () => {
    const folder = mkdtempSync(join(tmpdir(), "openapi-"));
    const path = join(folder, "mcp.json");
    writeFileSync(join(folder, "tools.mjs"), "export const add = ({ a, b }) => ({ sum: a + b });");
    const variable = ["$", "{KEY}"].join("");
    const petstore = {
      type: "openapi",
      document: join(process.cwd(), document),
      baseUrl: api.url,
      include: ["getPet"],
      headers: { "x-api-key": variable },
    };
    writeFileSync(path, JSON.stringify({ mcpServers: { petstore, calc: { type: "module", module: "./tools.mjs" } } }));
    await using host = await openHost(path, { environment: { env: { KEY: "key-of-ann" } } });
    expect((await host.listTools()).map(({ name }) => name).toSorted()).toEqual(["calc:add", "petstore:getPet"]);
    expect(await host.callTool("petstore:getPet", { id: "1" })).toMatchObject({ structuredContent: { owner: "ann" } });
    expect(await host.callTool("calc:add", { a: 1, b: 2 })).toMatchObject({ structuredContent: { sum: 3 } });
  });
});
