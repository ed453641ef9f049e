import { beforeAll, expect, it } from "vitest";
import { connect } from "../../src/connect/index.ts";
import { first, onEveryStore, type Serving, second, steps } from "./support/mortal-server.ts";

// A tool with three steps and two questions. Its process is killed at each of its points in turn, and the client tries
// again with another process: every step is done once, no question is put again that was answered, and the result is
// right.

/** Where the process is killed, which steps it has done by then, and what the user has to be asked after that. */
const points: readonly Point[] = [
  { name: "before all", done: 0, asked: [first, second] },
  { name: "after the first step", done: 1, asked: [first, second] },
  { name: "when the first question is put", question: first, done: 1, asked: [first, second] },
  { name: "after the first answer", done: 1, asked: [second] },
  { name: "after the second step", done: 2, asked: [second] },
  { name: "when the second question is put", question: second, done: 2, asked: [second] },
  { name: "after the second answer", done: 2, asked: [] },
  { name: "after the last step", done: 3, asked: [] },
];

interface Point {
  readonly name: string;
  /** The client kills the process when it hears this. Else the process tells when it is there. */
  readonly question?: string;
  readonly done: number;
  readonly asked: readonly string[];
}

// Most of the time passes while leases run out, so the tests wait together.
onEveryStore("a server that is killed", (servers) => {
  let other: Serving;
  beforeAll(async () => {
    other = await servers().serve();
  });

  it.concurrent.each(points)(
    "$name: another one goes on, and repeats nothing",
    async ({ name, question, done, asked }) => {
      const { serve, doneFor } = servers();
      const killed = await serve(name);
      const cutOff = travel(killed.url, name, (message) => (message === question ? killed.kill() : undefined));
      const failed = expect(cutOff).rejects.toMatchObject({ name: "McpError" });
      if (question === undefined) {
        expect(await killed.read()).toBe(name);
        await killed.kill();
      }
      await failed;
      expect(doneFor(name)).toEqual(steps.slice(0, done));

      const heard: string[] = [];
      const result = await travel(other.url, name, (message) => void heard.push(message));
      const by = steps.map((step, index) => [step, `${step} ${(index < done ? killed : other).pid}`]);
      expect(result).toEqual({ to: name, charged: true, receipt: true, ...Object.fromEntries(by) });
      expect(heard).toEqual(asked);
      expect(doneFor(name)).toEqual(steps);
    },
  );

  it.concurrent("what was done already has the result it had, and nobody is asked", async () => {
    const result = await travel(other.url, "once", () => {});
    const heard: string[] = [];
    expect(await travel(other.url, "once", (message) => void heard.push(message))).toEqual(result);
    expect(heard).toEqual([]);
    expect(servers().doneFor("once")).toEqual(steps);
  });
});

type Hear = (message: string) => void | Promise<void>;

/** Calls the tool once, with a user who agrees to everything. */
async function travel(url: string, to: string, hear: Hear): Promise<Record<string, unknown>> {
  const onElicit = async ({ message }: { readonly message: string }) => {
    await hear(message);
    return { ok: true };
  };
  await using client = await connect(url, { revision: "2026-07-28", onElicit });
  const { content } = await client.callTool("trip", { to }, { idempotencyKey: `the trip ${to}` });
  const [block] = content;
  return JSON.parse(block?.type === "text" ? block.text : "");
}
