import { expect, it } from "vitest";
import { type Client, connect, type TaskHandle } from "../../src/connect/index.ts";
import type { CallToolResult } from "../../src/protocol/tool.ts";
import { startRoundRobin } from "../support/round-robin.ts";
import { createLog } from "./support/events.ts";
import { first, type MortalServers, onEveryStore, type Serving, second, steps } from "./support/mortal-server.ts";

// A tool with three steps and two questions that runs as a task. Its process is killed at each of its points in turn;
// the client keeps its one connection, to something that spreads requests over two processes. The other process goes on:
// every step is done once, every question is put once, and the result is right.

/** Where the process is killed, and which steps it has done by then. */
const points: readonly Point[] = [
  { name: "after the first step", done: 1 },
  { name: "when the first question is put", question: first, done: 1 },
  { name: "after the first answer", done: 1 },
  { name: "after the second step", done: 2 },
  { name: "when the second question is put", question: second, done: 2 },
  { name: "after the second answer", done: 2 },
  { name: "after the last step", done: 3 },
];

interface Point {
  readonly name: string;
  /** The client kills the process when it hears this. Else the process tells when it is there. */
  readonly question?: string;
  readonly done: number;
}

/** A tool that always runs as a task, and one whose calls become tasks because they last at the point. */
const kinds = [
  { tool: "task", points },
  { tool: "either", points: points.filter(({ question }) => question === undefined) },
];

/** A process that is to be killed, behind something that spreads requests over it and another one. */
interface Scene extends AsyncDisposable {
  readonly url: string;
  readonly killed: Serving;
  readonly other: Serving;
  readonly doneFor: MortalServers["doneFor"];
  /** Starts a task in the process that stops at a point, and has its client hear of both processes from then on. */
  begin(client: Client, tool: string, to: string): Promise<TaskHandle>;
  /** From now on, requests go to both processes. */
  spread(): void;
  /** Kills the process. Its port may soon be somebody else's. */
  kill(): Promise<void>;
}

// Most of the time passes while leases run out, so the tests wait together, each with processes and a store of its own.
onEveryStore("a task whose process is killed", (servers) => {
  const stage = async (stop: string): Promise<Scene> => {
    const { serve, doneFor } = servers().apart();
    const [killed, other] = await Promise.all([serve(stop), serve()]);
    const front = await startRoundRobin([killed.port]);
    const spread = (): void => {
      front.ports = [killed.port, other.port];
    };
    return {
      url: front.url,
      killed,
      other,
      doneFor,
      spread,
      async begin(client, tool, to) {
        front.ports = [killed.port];
        const handle = await client.tasks.start(tool, { to });
        spread();
        return handle;
      },
      async kill() {
        await killed.kill();
        front.ports = front.ports.filter((port) => port !== killed.port);
      },
      async [Symbol.asyncDispose]() {
        await Promise.all([killed.kill(), other.kill(), front[Symbol.asyncDispose]()]);
      },
    };
  };

  for (const { tool, points } of kinds) {
    it.concurrent.each(points)(`${tool}, $name: another one goes on, and repeats nothing`, async (point) => {
      const { name, question, done } = point;
      await using scene = await stage(name);
      const { url, killed, other, begin, kill, doneFor } = scene;
      const to = `${tool} ${name}`;
      const heard: string[] = [];
      await using client = await connect(url, {
        revision: "2026-07-28",
        onElicit: async ({ message }) => {
          heard.push(message);
          if (message === question) await kill();
          return { ok: true };
        },
      });
      const handle = await begin(client, tool, to);
      expect(handle.id).toBeDefined();
      const ended = handle.result();
      if (question === undefined) {
        expect(await killed.read()).toBe(name);
        await kill();
      }
      const by = steps.map((step, index) => [step, `${step} ${(index < done ? killed : other).pid}`]);
      expect(JSON.parse(textOf(await ended))).toEqual({
        to,
        charged: true,
        receipt: true,
        ...Object.fromEntries(by),
      });
      expect(heard).toEqual([first, second]);
      expect(doneFor(to)).toEqual(steps);
    });
  }

  it.concurrent("goes on when its client has ended, too, which takes it up again by its id", async () => {
    await using scene = await stage("after the first step");
    const { url, killed, other, begin, kill, doneFor } = scene;
    let id = "";
    {
      await using client = await connect(url, asked);
      id = (await begin(client, "task", "resumed")).id ?? "";
      await killed.read();
    }
    await kill();
    await using client = await connect(other.url, asked);
    const result = await (await client.tasks.resume(id)).result();
    expect(JSON.parse(textOf(result))).toMatchObject({ to: "resumed", hold: `hold ${killed.pid}` });
    expect(doneFor("resumed")).toEqual(steps);
  });

  it.concurrent("fails where there is before its first step", async () => {
    await using scene = await stage("before all");
    const { url, killed, spread, kill, doneFor } = scene;
    await using client = await connect(url, asked);
    const states = createLog<string>();
    const ended = client.callTool("task", { to: "lost" }, { onTask: ({ status }) => states.add(status) });
    const failed = expect(ended).rejects.toMatchObject({ message: expect.stringContaining("before its first step") });
    expect(await killed.read()).toBe("before all");
    await states.count(1);
    spread();
    await kill();
    await failed;
    expect(states.items.at(-1)).toBe("failed");
    expect(doneFor("lost")).toEqual([]);
  });

  it.concurrent("stays cancelled, and nobody goes on with it", async () => {
    await using scene = await stage("after the first step");
    const { url, killed, begin, kill, doneFor } = scene;
    await using client = await connect(url, asked);
    const before = await begin(client, "task", "cancelled before");
    const after = await begin(client, "task", "cancelled after");
    const witness = await begin(client, "task", "witness");
    for (let task = 0; task < 3; task++) await killed.read();
    await before.cancel();
    await kill();
    await after.cancel();
    await witness.result();
    for (const handle of [before, after]) {
      expect(await handle.status()).toMatchObject({ status: "cancelled" });
      await expect(handle.result()).rejects.toMatchObject({ code: "cancelled" });
      // What is over can be cancelled as often as one likes.
      await handle.cancel();
    }
    expect(doneFor("cancelled before")).toEqual(["hold"]);
    expect(doneFor("cancelled after")).toEqual(["hold"]);
  });
});

/** A user who agrees to everything. */
const asked = { revision: "2026-07-28", onElicit: () => ({ ok: true }) } as const;

function textOf({ content: [block] }: CallToolResult): string {
  return block?.type === "text" ? block.text : "";
}
