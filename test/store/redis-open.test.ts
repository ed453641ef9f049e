import { fork } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { redisStore } from "../../src/store/node/redis-store.ts";
import { quietPort } from "../support/quiet-port.ts";
import { redisProgram, startRedis, type TestRedis } from "../support/redis.ts";
import { createCertificate } from "../support/redis-certificate.ts";
import { rejects } from "./support.ts";

describe.skipIf(redisProgram === undefined)("opening a store in Redis", () => {
  let redis: TestRedis;

  beforeAll(async () => {
    redis = await startRedis("--requirepass", "pass@word", "--user", "ann", "on", ">s3cr:t", "~*", "&*", "+@all");
  });

  afterAll(async () => {
    await redis[Symbol.asyncDispose]();
  });

  const url = (who: string, path = ""): string => `redis://${who}127.0.0.1:${redis.port}${path}`;

  it("takes the password, the user and the database from the URL", async () => {
    await using store = await redisStore(url(":pass%40word@"));
    await using ann = await redisStore(url("ann:s3cr%3At@").replace("redis:", "valkey:"));
    await using other = await redisStore(url("ann:s3cr%3At@", "/3"));
    await store.values.put("a", "1");
    expect((await ann.values.get("a"))?.text).toBe("1");
    expect(await other.values.get("a")).toBeUndefined();
    expect(store.durable).toBe(true);
  });

  it("keeps stores with different prefixes apart", async () => {
    await using one = await redisStore(url(":pass%40word@"), { prefix: "one" });
    await using two = await redisStore(url(":pass%40word@"), { prefix: "two" });
    const subscription = await two.topics.subscribe("a");
    await one.values.put("a", "1", { group: "g" });
    await one.streams.append("a", ["1"]);
    await one.leases.acquire("a", 60_000);
    await one.topics.publish("a", "one");
    await two.topics.publish("a", "two");
    expect(await two.values.get("a")).toBeUndefined();
    expect(await two.values.list("g")).toEqual([]);
    expect((await two.streams.read("a", 0)).last).toBe(0);
    expect(await two.leases.held("a")).toBe(false);
    for await (const message of subscription) {
      expect(message).toEqual({ kind: "message", text: "two" });
      break;
    }
  });

  it.each([
    ["a wrong password", ":wrong-s3cret@", ""],
    ["no password", "", ""],
    ["a wrong user", "bob:wrong-s3cret@", ""],
    ["a database that is not there", ":pass%40word@", "/99"],
  ])("rejects at once with %s, and does not tell the password", async (_, who, path) => {
    const error = await redisStore(url(who, path)).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: "StoreError", code: "invalid" });
    expect(everythingIn(error)).not.toMatch(/s3cret|pass@word|pass%40word/);
  });

  it("rejects within the bound when there is no Redis", async () => {
    const nowhere = `redis://:s3cret@127.0.0.1:${await quietPort()}`;
    const error = await redisStore(nowhere, { waitMs: 200 }).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "unavailable", message: expect.stringContaining("ECONNREFUSED") });
    expect(everythingIn(error)).not.toContain("s3cret");
  });

  it("rejects within the bound when somebody else is there", async () => {
    const server = createServer((socket) => socket.resume()).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    await rejects(() => redisStore(`redis://127.0.0.1:${port}`, { waitMs: 200 }), "unavailable");
    server.close();
    await once(server, "close");
  });

  it.each([
    "127.0.0.1:6379",
    "http://:s3cret@localhost",
    "redis://:s3cret@localhost:port",
    "redis://:s3cret%@localhost",
    "redis://:s3cret@localhost/name",
    "redis://:s3cret@localhost?tls=true",
    "",
  ])("refuses the URL %j without repeating it", async (text) => {
    const error = await redisStore(text).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "invalid", message: expect.stringMatching(/^redis: the URL /) });
    expect(everythingIn(error)).not.toContain("s3cret");
  });

  it("refuses a prefix with braces", async () => {
    await rejects(() => redisStore(url(":pass%40word@"), { prefix: "{a}" }), "invalid");
  });

  it("says what to install without ioredis", async () => {
    vi.doMock("ioredis", () => {
      throw new Error("Cannot find package 'ioredis'");
    });
    onTestFinished(() => void vi.doUnmock("ioredis"));
    await expect(redisStore(url(""))).rejects.toMatchObject({
      code: "unsupported",
      message: "redis: needs the package ioredis; install it with npm i ioredis",
    });
  });

  it("speaks TLS with rediss://", async () => {
    const { cert, key } = createCertificate();
    const port = await quietPort();
    await using secure = await startRedis();
    const [certFile, keyFile] = [join(secure.folder, "cert.pem"), join(secure.folder, "key.pem")];
    await writeFile(certFile, cert);
    await writeFile(keyFile, key);
    const admin = new Redis(secure.url);
    const files = ["tls-cert-file", certFile, "tls-key-file", keyFile];
    await admin.call("CONFIG", "SET", ...files, "tls-auth-clients", "no", "tls-port", String(port));
    admin.disconnect();
    await using store = await redisStore(`rediss://127.0.0.1:${port}`, { tls: { ca: cert } });
    const subscription = await store.topics.subscribe("a");
    await store.topics.publish("a", "1");
    for await (const message of subscription) {
      expect(message).toEqual({ kind: "message", text: "1" });
      break;
    }
    await rejects(() => redisStore(`rediss://127.0.0.1:${port}`, { waitMs: 1_000 }), "unavailable");
  });
});

describe.skipIf(redisProgram === undefined)("a process with a store in Redis", () => {
  async function run(redis: TestRedis, ...args: readonly string[]): Promise<{ said: string; code: number }> {
    const path = new URL("../support/redis-child.ts", import.meta.url);
    const execArgv = ["--import", import.meta.resolve("tsx")];
    const child = fork(path, [redis.url, ...args], { execArgv, stdio: ["ignore", "pipe", "pipe", "ipc"] });
    let said = "";
    for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk) => (said += chunk));
    if (args.length > 0) {
      await vi.waitFor(() => expect(said).toContain("message"), 20_000);
      await redis.stop("SIGKILL");
      child.send("without Redis");
    }
    const [code] = (await once(child, "close")) as [number];
    return { said, code };
  }

  it("ends by itself after closing it", async () => {
    await using redis = await startRedis();
    expect(await run(redis)).toEqual({ said: "message\non 1\nclosed\n", code: 0 });
  });

  it("ends by itself also when Redis is gone", async () => {
    await using redis = await startRedis();
    const ended = await run(redis, "--wait");
    expect(ended).toEqual({ said: "message\nwithout Redis unavailable\nclosed\n", code: 0 });
  });
});

/** All text of an error, with what is hidden in it. */
function everythingIn(error: unknown): string {
  const parts: unknown[] = [];
  for (let at = error; at instanceof Error; at = at.cause) {
    parts.push(at.stack, at.message, JSON.stringify(at, Object.getOwnPropertyNames(at)));
  }
  return parts.join("\n");
}
