import { mkdtempSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { connect } from "../connect/index.ts";
import { openApi } from "./node/open-api.ts";
import type { OpenApiOptions } from "./open-api.ts";

const baseUrl = "https://api.example.com/v1";
const ok = { responses: { 200: { description: "ok" } } };

function documentOf(paths: object, more: object = {}): object {
  return { openapi: "3.1.0", info: { title: "My API", version: "2.0.0" }, paths, ...more };
}

async function toolsOf(document: string | object, options: OpenApiOptions = {}) {
  await using client = await connect(await openApi(document, { baseUrl, ...options }));
  return await client.listTools();
}

async function namesOf(paths: object, options: OpenApiOptions = {}): Promise<readonly string[]> {
  return (await toolsOf(documentOf(paths), options)).map(({ name }) => name);
}

describe("the tools of a document", () => {
  const paths = {
    "/pets": {
      get: { operationId: "listPets", tags: ["pets"], ...ok },
      post: { operationId: "addPet", tags: ["pets", "admin"], ...ok },
    },
    "/pets/{id}": {
      parameters: [{ name: "id", in: "path", required: true, schema: { type: "string" } }],
      put: { operationId: "pets/put", ...ok },
      delete: { ...ok },
    },
    "/old": { get: { operationId: "old", deprecated: true, ...ok } },
  };

  it("are named after operations, or after method and path", async () => {
    expect(await namesOf(paths)).toEqual(["listPets", "addPet", "pets_put", "delete_pets_id"]);
  });

  it.each<[OpenApiOptions, readonly string[]]>([
    [{ include: ["list*"] }, ["listPets"]],
    [{ include: ["tag:pets"], exclude: ["tag:admin"] }, ["listPets"]],
    [{ include: ["GET *"] }, ["listPets", "old"]],
    [{ include: ["/pets/*"] }, ["pets_put", "delete_pets_id"]],
    [{ include: ["PUT /pets*", "old"] }, ["pets_put", "old"]],
    [{ exclude: ["DELETE *", "addPet"] }, ["listPets", "pets_put"]],
  ])("are those that %j chooses", async (options, expected) => {
    expect(await namesOf(paths, options)).toEqual(expected);
  });

  it.each([
    [{ include: ["listPet"] }],
    [{ exclude: ["tag:none"] }],
    [{ include: "x" as never }],
    [{ includes: ["a"] } as object],
  ])("are not chosen by %j, which is a mistake", async (options) => {
    await expect(openApi(documentOf(paths), { baseUrl, ...options })).rejects.toMatchObject({
      code: "invalid-definition",
    });
  });

  it("have names that do not depend on the order of the document", async () => {
    const same = {
      "/a": { get: { operationId: "x!", ...ok } },
      "/b": { get: { operationId: "x", ...ok } },
      "/c": { get: { operationId: "x?", ...ok } },
    };
    const names = await namesOf(same);
    const turned = await namesOf(Object.fromEntries(Object.entries(same).reverse()));
    expect(names.toSorted()).toEqual(turned.toSorted());
    expect(names).toContain("x");
    expect(new Set(names).size).toBe(3);
    const [long = ""] = await namesOf({ "/a": { get: { operationId: "x".repeat(200), ...ok } } });
    expect(long).toMatch(/^x{55}_[a-z2-7]{8}$/);
  });

  it("say what their methods do", async () => {
    const tools = await toolsOf(documentOf(paths));
    expect(
      tools.map(({ annotations: { readOnlyHint, destructiveHint, idempotentHint } = {} }) => [
        readOnlyHint,
        destructiveHint,
        idempotentHint,
      ]),
    ).toEqual([
      [true, undefined, undefined],
      [false, undefined, undefined],
      [false, undefined, true],
      [false, true, true],
    ]);
  });

  it("take arguments with names of their own", async () => {
    const parameters = [
      { name: "id", in: "query", schema: { type: "integer" } },
      { name: "id", in: "path", required: true, schema: { type: "string" }, description: "Which." },
      { name: "filter[name]", in: "query", schema: { type: "string" } },
      { name: "body", in: "header", schema: { type: "string" } },
      { name: "Authorization", in: "header", required: true, schema: { type: "string" } },
    ];
    const requestBody = { required: true, content: { "application/json": { schema: { type: "array" } } } };
    const [tool] = await toolsOf(documentOf({ "/a/{id}": { put: { parameters, requestBody, ...ok } } }));
    expect(tool?.inputSchema).toEqual({
      type: "object",
      properties: {
        id: { type: "string", description: "Which." },
        id_query: { type: "integer", description: "The query parameter id." },
        filter_name: { type: "string", description: "The query parameter filter[name]." },
        body: { type: "string" },
        body_content: { type: "array", description: "The body of the request." },
      },
      required: ["id", "body_content"],
      additionalProperties: false,
    });
  });

  it("leave out an operation that cannot be used, and say so", async () => {
    const broken = { get: { parameters: [{ $ref: "#/components/parameters/gone" }], ...ok } };
    const warnings: string[] = [];
    const paths = { "/a": { get: { operationId: "a", ...ok } }, "/b": broken };
    expect(await namesOf(paths, { onWarning: (message) => warnings.push(message) })).toEqual(["a"]);
    expect(warnings).toEqual([
      'get_b (GET /b) is left out: the reference "#/components/parameters/gone" at #/paths/~1b/get/parameters/0 leads nowhere',
    ]);
  });

  it("do without a pattern that cannot be matched safely", async () => {
    const schema = { type: "string", pattern: "^(a+)+$" };
    const warnings: string[] = [];
    const paths = { "/a": { get: { operationId: "a", parameters: [{ name: "q", in: "query", schema }], ...ok } } };
    const [tool] = await toolsOf(documentOf(paths), { onWarning: (message) => warnings.push(message) });
    expect(tool?.inputSchema.properties).toEqual({ q: { type: "string" } });
    expect(warnings[0]).toMatch(/^a: its patterns are not checked/);
  });
});

describe("a document that wants too much", () => {
  const refused = (document: string | object, options: OpenApiOptions = {}) =>
    expect(openApi(document, { onWarning: () => {}, ...options })).rejects;

  it.each([
    ["http://169.254.169.254/latest", /169\.254\.169\.254, which is not https on the public network; set baseUrl/],
    ["https://169.254.169.254/latest", /not https on the public network/],
    ["http://localhost:8080", /not https on the public network/],
    ["https://[::ffff:10.0.0.1]/", /not https on the public network/],
    ["http://api.example.com", /not https on the public network/],
    ["file:///etc/passwd", /is a file: URL/],
    ["https://me:secret@api.example.com", /has a user name or password/],
    ["/v1", /no URL; set baseUrl/],
  ])("is not asked at the server %s", async (url, message) => {
    const document = documentOf({ "/a": { get: ok } }, { servers: [{ url }] });
    await refused(document).toMatchObject({ code: "invalid-definition", message: expect.stringMatching(message) });
  });

  it("is not asked at a server of one operation either", async () => {
    const servers = [{ url: "http://169.254.169.254" }];
    const document = documentOf({ "/a": { get: { ...ok, servers } } }, { servers: [{ url: baseUrl }] });
    await refused(document).toMatchObject({ message: expect.stringMatching(/169\.254/) });
  });

  it.each([
    "file:///etc/passwd",
    "/etc/passwd",
    "../x.yaml#/a",
    "http://169.254.169.254/x",
    "https://example.com/x.json#/a",
  ])("does not read %s", async ($ref) => {
    const parameters = [{ name: "a", in: "query", schema: { $ref } }];
    const document = documentOf({ "/a": { get: { parameters, ...ok } } });
    await refused(document, { baseUrl }).toMatchObject({
      code: "invalid-definition",
      message: expect.stringMatching(/leads out of the OpenAPI document/),
    });
  });

  it.each([
    "file:///etc/passwd",
    "/etc/passwd",
    "../outside.json",
    "sub/../../outside.json",
    "link.json",
    "https://localhost/x",
    "https://10.0.0.1/x",
  ])("does not read %s with references allowed", async ($ref) => {
    const folder = mkdtempSync(join(tmpdir(), "openapi-"));
    symlinkSync("/etc/passwd", join(folder, "link.json"));
    const path = join(folder, "api.json");
    const parameters = [{ name: "a", in: "query", schema: { $ref } }];
    writeFileSync(path, JSON.stringify(documentOf({ "/a": { get: { parameters, ...ok } } })));
    await refused(path, { baseUrl, allowRemoteReferences: true }).toThrow(
      /outside of its folder|leads out of the folder|is not asked/,
    );
  });

  it("reads a file beside it with references allowed", async () => {
    const folder = mkdtempSync(join(tmpdir(), "openapi-"));
    const path = join(folder, "api.json");
    writeFileSync(join(folder, "pet.yaml"), "Pet: { type: integer }");
    const parameters = [{ name: "a", in: "query", schema: { $ref: "./pet.yaml#/Pet" } }];
    writeFileSync(path, JSON.stringify(documentOf({ "/a": { get: { parameters, ...ok } } })));
    const [tool] = await toolsOf(path, { allowRemoteReferences: true });
    expect(tool?.inputSchema.properties).toEqual({ a: { type: "integer" } });
  });

  it("is refused when its aliases stand for too much", async () => {
    const laughs = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"];
    for (let level = 1; level < 9; level++) {
      laughs.push(`a${level}: &a${level} [${Array.from({ length: 9 }, () => `*a${level - 1}`).join(", ")}]`);
    }
    await refused(`openapi: 3.1.0\n${laughs.join("\n")}\n`).toMatchObject({
      message: expect.stringMatching(/Excessive alias count/),
    });
  });

  it("is refused when it is too long, too deep or has too many values", async () => {
    await refused(`openapi: 3.1.0\n${"#".repeat(3 << 20)}`).toThrow(/longer than 2097152 bytes, .*convert it to JSON/);
    await refused(`openapi: 3.1.0\n${"#".repeat(9 << 20)}`).toThrow(/longer than 8388608 bytes \(maxDocumentBytes\)/);
    await refused(`{"openapi":"3.1.0","a":${"[".repeat(100_000)}${"]".repeat(100_000)}}`).toThrow(/nested deeper/);
    await refused(`openapi: 3.1.0\na: ${"[".repeat(100_000)}`).toThrow(/nested|neither JSON nor YAML/);
    await refused(`{"openapi":"3.1.0","a":[${"0,".repeat(1_100_000)}0]}`).toThrow(/more than 1048576 values/);
  });

  it.each([
    ["swagger: '2.0'", /is Swagger 2\.0; convert it/],
    ["openapi: 4.0.0", /not an OpenAPI 3 document/],
    ["hello: [1", /neither JSON nor YAML/],
    ["\njust text", /an object is expected/],
    ["openapi: 3.0.0\n", /no operation that can be used, of 0/],
  ])("is refused as no document: %j", async (text, message) => {
    await refused(text.includes("\n") ? text : `${text}\n`, { baseUrl }).toMatchObject({
      code: "invalid-definition",
      message: expect.stringMatching(message),
    });
  });

  it("is refused when it has too many operations or schemas", async () => {
    const many = Object.fromEntries(Array.from({ length: 2_001 }, (_, index) => [`/p${index}`, { get: ok }]));
    await refused(documentOf(many), { baseUrl }).toThrow(/2001 operations to take, and 2000 is the limit/);
    const schemas = Object.fromEntries(
      Array.from({ length: 1_000 }, (_, index) => [
        `S${index}`,
        { items: { $ref: `#/components/schemas/S${(index + 1) % 1_000}` } },
      ]),
    );
    const requestBody = { content: { "application/json": { schema: { $ref: "#/components/schemas/S0" } } } };
    const paths = Object.fromEntries(
      Array.from({ length: 400 }, (_, index) => [`/p${index}`, { post: { requestBody, ...ok } }]),
    );
    await refused(documentOf(paths, { components: { schemas } }), { baseUrl }).toThrow(/more than 300000 schemas/);
  });

  it("loses only the part whose references lead in a circle", async () => {
    const warnings: string[] = [];
    const paths = { "/a": { get: { operationId: "a", ...ok } }, "/b": { $ref: "#/paths/~1b" } };
    expect((await toolsOf(documentOf(paths), { onWarning: (message) => warnings.push(message) })).length).toBe(1);
    expect(warnings).toEqual([expect.stringMatching(/^the path \/b is left out: .* lead in a circle/)]);
    const components = { securitySchemes: { key: { $ref: "#/components/securitySchemes/key" } } };
    await refused(documentOf(paths, { components }), { baseUrl }).toMatchObject({ code: "invalid-definition" });
  });

  it("is refused when a path of a file is no file", async () => {
    await refused("/nowhere/api.yaml").toThrow(/cannot be read: ENOENT/);
    await refused(tmpdir()).toThrow(/is not a file/);
  });
});

describe("the server of a document", () => {
  it("has its name, version and description", async () => {
    const info = { title: "My API!", version: "2.0.0", description: "All of it." };
    const server = await openApi(documentOf({ "/a": { get: ok } }, { info }), { baseUrl });
    await using client = await connect(server);
    expect(client.server).toMatchObject({
      serverInfo: { name: "my-api", version: "2.0.0" },
      instructions: "All of it.",
    });
  });

  it("puts variables into its URL, and takes only values that are allowed", async () => {
    const servers = [
      { url: "https://{region}.example.com", variables: { region: { default: "eu", enum: ["eu", "us"] } } },
    ];
    const document = documentOf({ "/a": { get: ok } }, { servers });
    await openApi(document, { serverVariables: { region: "us" } });
    await expect(openApi(document, { serverVariables: { region: "evil.com/" } })).rejects.toThrow(
      /must be one of eu, us/,
    );
  });

  it("sends no credentials over http to another machine, unless told to", async () => {
    const options = { baseUrl: "http://api.internal", headers: { authorization: "Bearer abc" } };
    const document = documentOf({ "/a": { get: ok } });
    await expect(openApi(document, options)).rejects.toThrow(/would send credentials to http:\/\/api\.internal/);
    await openApi(document, { ...options, allowInsecureHttp: true });
  });

  it.each([{ timeoutMs: -1 }, { maxResponseBytes: Number.NaN }, { maxDocumentBytes: "1" as never }])(
    "refuses %j",
    async (options) => {
      await expect(openApi(documentOf({ "/a": { get: ok } }), { baseUrl, ...options })).rejects.toThrow(
        /must be 0 or more/,
      );
    },
  );
});
