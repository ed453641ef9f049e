import { describe, expect, it } from "vitest";
import { fakeHead } from "../../../test/support/fake-reply.ts";
import { createMetadataEndpoint, type MetadataOptions } from "./authentication.ts";

const issuer = "https://login.example";
const wellKnown = "/.well-known/oauth-protected-resource";

function metadataEndpoint(options: Partial<MetadataOptions> = {}) {
  const metadata = { authorization_servers: [issuer] };
  const { answer, urlFor } = createMetadataEndpoint({
    metadata,
    path: "/mcp",
    hosts: ["shop.example", "localhost"],
    ...options,
  });
  return {
    urlFor: (url = "/mcp", host = "shop.example") => urlFor(fakeHead({ host }, "POST", url)),
    ask: (url: string, host = "shop.example", method = "GET") => answer(fakeHead({ host }, method, url)),
  };
}

const resourceOf = (answer: { readonly body: string } | undefined) => answer && JSON.parse(answer.body).resource;

describe("the metadata of a protected server", () => {
  it("is at the well-known place of its path and of its origin, for everybody", () => {
    const { ask } = metadataEndpoint();
    for (const path of [wellKnown, `${wellKnown}/`, `${wellKnown}/mcp`, `${wellKnown}/mcp/`, `${wellKnown}/mcp?x=1`]) {
      const answer = ask(path);
      expect(answer).toMatchObject({
        status: 200,
        headers: {
          "content-type": "application/json",
          "access-control-allow-origin": "*",
          "cache-control": "no-store",
        },
      });
      expect(JSON.parse(answer?.body ?? "")).toEqual({
        resource: "https://shop.example/mcp",
        authorization_servers: [issuer],
      });
    }
  });

  it("is nowhere else", () => {
    const { ask } = metadataEndpoint();
    for (const path of [
      "/mcp",
      "/",
      "/.well-known/other",
      `${wellKnown}x`,
      `${wellKnown}/other`,
      `${wellKnown}/mcp/x`,
    ]) {
      expect(ask(path)).toBeUndefined();
    }
  });

  it("names the server by the host that was called, if that is allowed; without TLS only on this machine", () => {
    const { ask, urlFor } = metadataEndpoint();
    expect(resourceOf(ask(wellKnown, "localhost:3000"))).toBe("http://localhost:3000/mcp");
    expect(urlFor("/mcp", "localhost:3000")).toBe(`http://localhost:3000${wellKnown}/mcp`);
    expect(ask(wellKnown, "evil.example")).toMatchObject({ status: 403 });
    expect(resourceOf(metadataEndpoint({ hosts: "any" }).ask(wellKnown, "any.example"))).toBe(
      "https://any.example/mcp",
    );
    expect(resourceOf(metadataEndpoint({ hosts: "any" }).ask(wellKnown, "[::1]:8080"))).toBe("http://[::1]:8080/mcp");
  });

  it("names the server as it is told to", () => {
    const metadata = { resource: "https://api.example/v1/mcp", authorization_servers: [issuer] };
    const { ask, urlFor } = metadataEndpoint({ metadata });
    for (const path of [wellKnown, `${wellKnown}/v1/mcp`, `${wellKnown}/mcp`]) {
      expect(resourceOf(ask(path))).toBe("https://api.example/v1/mcp");
    }
    expect(ask(wellKnown)?.headers).toMatchObject({ "cache-control": "max-age=300" });
    expect(urlFor()).toBe(`https://api.example${wellKnown}/v1/mcp`);
    const root = metadataEndpoint({ metadata: { resource: "https://api.example" }, path: "/" });
    expect(root.urlFor()).toBe(`https://api.example${wellKnown}`);
    expect(resourceOf(root.ask(wellKnown))).toBe("https://api.example");
  });

  it("is that of any path where the endpoint is at any path", () => {
    const { ask, urlFor } = metadataEndpoint({ path: undefined });
    expect(resourceOf(ask(`${wellKnown}/a/b`))).toBe("https://shop.example/a/b");
    expect(resourceOf(ask(wellKnown))).toBe("https://shop.example");
    expect(urlFor("/a/b?c")).toBe(`https://shop.example${wellKnown}/a/b`);
    expect(ask(`${wellKnown}x`)).toBeUndefined();
  });

  it("can be read, and asked for by pages, but not written", () => {
    const { ask } = metadataEndpoint();
    expect(ask(wellKnown, "shop.example", "OPTIONS")).toMatchObject({
      status: 204,
      headers: { "access-control-allow-origin": "*", "access-control-allow-headers": "*" },
    });
    for (const method of ["POST", "DELETE", "PUT"]) {
      expect(ask(wellKnown, "shop.example", method)).toMatchObject({ status: 405, headers: { allow: "GET" } });
    }
  });
});
