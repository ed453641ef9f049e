import { afterAll, beforeAll, describe } from "vitest";
import { redisProgram, startRedis, type TestRedis } from "../support/redis.ts";
import { type RoundRobin, startRoundRobin } from "../support/round-robin.ts";
import {
  type AttackReport,
  attack,
  attackedServer,
  attackOverHttp,
  eachHeld,
  principals,
  tools,
} from "./support/attack-kit.ts";
import { serve } from "./support/serving.ts";

// What one principal could do with what is another's: at a server, at a host that both share, at two processes on one Redis.

const groups = ["--only", "principals,states,tasks"];

const everywhere = [
  "guessed-sessions (V5)",
  "foreign-session (V5)",
  "foreign-events (V6)",
  "foreign-cancel (V4)",
  "foreign-answer (V7)",
  "equal-ids (V4)",
  "duplicate-ids (V34)",
  "changed-state (V7)",
  "foreign-state (S7, V7)",
  "replayed-state (S8)",
  "many-waiting-calls (S9)",
  "foreign-task (S6, S7, V7)",
  "many-tasks (S9)",
];

describe("a server over HTTP", () => {
  let report: AttackReport;
  beforeAll(async () => {
    const other = await serve(attackedServer("--port", "0", "--name", "other"));
    report = await attackOverHttp([], [...principals, ...tools(), ...groups, "--second-url", other.url]);
  }, 180_000);

  eachHeld("server", [...everywhere, "weaker-token (S6)", "foreign-audience (S11)"], () => report);
});

describe("a host that is served", () => {
  let report: AttackReport;
  beforeAll(async () => {
    // The server behind the host knows no principals: none that lacks a scope. To it all calls and tasks are those of the host, which divides them.
    const args = [...principals, ...tools("up__"), ...groups, "--skip", "weaker-token,foreign-audience"];
    report = await attackOverHttp(["--hosted"], args);
  }, 180_000);

  eachHeld("host", everywhere, () => report);
});

describe.skipIf(redisProgram === undefined)("two processes on one Redis", () => {
  let redis: TestRedis;
  let front: RoundRobin;
  let report: AttackReport;
  beforeAll(async () => {
    redis = await startRedis();
    const nodes = await Promise.all([0, 1].map(() => serve(attackedServer("--port", "0", "--redis", redis.url))));
    front = await startRoundRobin(nodes.map(({ url }) => Number(new URL(url).port)));
    const pids = nodes.flatMap(({ pid }) => ["--pid", String(pid)]);
    report = await attack(front.url, ...pids, ...principals, ...tools(), ...groups, "--skip", "foreign-audience");
  }, 240_000);
  afterAll(async () => {
    await front?.[Symbol.asyncDispose]();
    await redis?.[Symbol.asyncDispose]();
  });

  eachHeld("nodes", [...everywhere, "weaker-token (S6)"], () => report);
});
