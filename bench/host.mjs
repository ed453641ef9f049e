// Runs one role of one peer: `node host.mjs plugbay http '{"mode":"modern"}'`. Started
// by the harness, which asks for things over the channel between the processes.
import { setTimeout as pause } from "node:timers/promises";
import { cutStdin } from "./lib/pieces.mjs";

const [peer, role, text] = process.argv.slice(2);
const { piece, ...options } = JSON.parse(text);

if (piece !== undefined) cutStdin(piece);

const { [role]: start } = await import(`./peers/${peer}.mjs`);
// A role returns what can be asked of it, and facts that the harness has to know.
const { facts = {}, ...commands } = (await start(options)) ?? {};

const common = {
  cpu() {
    const { user, system } = process.cpuUsage();
    return user + system;
  },
  /** Bytes in use after everything that can be collected is. */
  async heap() {
    for (let round = 0; round < 4; round++) {
      globalThis.gc();
      await pause(20);
    }
    const { heapUsed, rss, external } = process.memoryUsage();
    return { heapUsed, rss, external };
  },
};

process.on("message", async ({ id, name, args }) => {
  try {
    process.send({ id, value: await (commands[name] ?? common[name])(...args) });
  } catch (error) {
    process.send({ id, error: error?.stack ?? String(error) });
  }
});
process.on("disconnect", () => process.exit());
process.send({ id: 0, value: facts });
