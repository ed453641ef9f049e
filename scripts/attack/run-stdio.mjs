import { call, createStdioPeer } from "./peers.mjs";
import { greet, greetOlder, startChild } from "./stdio-child.mjs";
import { readOnlyEcho } from "./target.mjs";
import { gotThrough } from "./verdicts.mjs";
import { startWatcher } from "./watcher.mjs";

const MB = 1_000_000;

/** Runs attacks on a stdio server, each on a process of its own, and tells each result as soon as it is there. */
export async function runOverStdio(attacks, options, tell) {
  const results = [];
  for (const attack of attacks) {
    tell({ begins: attack });
    const start = performance.now();
    const verdict = await runOne(attack, options);
    const { id, group, covers, title } = attack;
    results.push({ id, group, covers, title, ...verdict, ms: Math.round(performance.now() - start) });
    tell({ result: results.at(-1) });
  }
  return results;
}

async function runOne(attack, { command, uses, maxGrowth }) {
  const child = startChild(command);
  const others = [];
  /** The eras that the program speaks, each in a process of its own. */
  const peersBesides = async (peer) => {
    const other = startChild(command);
    others.push(other);
    return (await greetOlder(other)) && peer.isModern ? [peer, createStdioPeer(other, false)] : [peer];
  };
  let watcher;
  try {
    const era = await greet(child);
    if (era === undefined) throw new Error(`${command.join(" ")} speaks no MCP on its stdin and stdout`);
    const peer = createStdioPeer(child, era === "modern");
    const ctx = { child, peer, ...(await explore(peer, uses)), peers: () => peersBesides(peer) };
    watcher = startWatcher({ pids: [child.pid] });
    await watcher.reset();
    const verdict = await attack.run(ctx);
    const { before, peak } = await watcher.read();
    return judged(verdict, { attack, child, growth: (peak - before) / MB, maxGrowth });
  } finally {
    await watcher?.stop();
    await Promise.all([child, ...others].map((one) => one.stop()));
  }
}

/** What the server has that attacks may use. */
async function explore(peer, uses) {
  const ask = async (method) => (await call(peer, method, {})).result ?? {};
  const { tools = [] } = await ask("tools/list");
  const { resources = [] } = await ask("resources/list");
  const { resourceTemplates: templates = [] } = await ask("resources/templates/list");
  const known = { ...uses, ...(uses.echo === undefined && readOnlyEcho(tools)) };
  return { uses: known, target: { tools, resources, templates, isModern: peer.isModern } };
}

function judged(verdict, { attack, child, growth, maxGrowth }) {
  const measured = { ...verdict, growthMb: Math.round(growth * 10) / 10 };
  if (attack.group !== "stdio") return child.isGone ? gotThrough(`the server ended; ${verdict.evidence}`) : measured;
  if (growth <= maxGrowth) return measured;
  return {
    ...measured,
    verdict: "got through",
    evidence: `memory grew by ${Math.round(growth)} MB; ${verdict.evidence}`,
  };
}
