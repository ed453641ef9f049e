import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { within } from "./deadline.mjs";

const host = fileURLToPath(new URL("../host.mjs", import.meta.url));
const running = new Set();

process.on("exit", () => {
  for (const kill of running) kill();
});

/**
 * Starts one role of one peer in a process of its own and waits until it is ready.
 *
 * `ask(name, …)` has the process do something and gives what it says; `cpu()` is the
 * processor time that it has used so far, in microseconds. Stdin and stdout belong
 * to roles that speak over them.
 */
export async function startPeer(peer, role, options = {}) {
  const { slow, ends = "SIGKILL", ...rest } = options;
  const child = fork(host, [peer, role, JSON.stringify(rest)], {
    execArgv: ["--expose-gc", "--no-warnings"],
    stdio: ["pipe", "pipe", "pipe", "ipc"],
    env: { ...process.env, NODE_ENV: "production", ...(slow && { BENCH_SLOW: slow }) },
    serialization: "json",
  });
  // A role with processes of its own has to end those.
  const kill = () => child.kill(ends);
  running.add(kill);
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text) => {
    stderr = (stderr + text).slice(-4000);
  });

  const waiting = new Map();
  let nextId = 0;
  let closing = false;
  const ended = new Promise((resolve) => child.once("exit", resolve)).then((code) => {
    running.delete(kill);
    const error = new Error(`${peer} (${role}) ended with ${code}: ${stderr}`);
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
    if (!closing) lost?.(error);
  });
  let lost;
  child.on("message", ({ id, value, error }) => {
    const { resolve, reject } = waiting.get(id) ?? {};
    waiting.delete(id);
    if (error === undefined) resolve?.(value);
    else reject?.(new Error(`${peer} (${role}): ${error}\n${stderr}`));
  });
  const wait = (id) => new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
  const ask = (name, ...args) => {
    const id = ++nextId;
    const answer = wait(id);
    child.send({ id, name, args });
    return answer;
  };

  const facts = await within(60_000, `the start of ${peer}`, wait(0));
  return {
    peer,
    role,
    facts,
    stdin: child.stdin,
    stdout: child.stdout,
    pid: child.pid,
    ask,
    cpu: () => ask("cpu"),
    heap: () => ask("heap"),
    /** Called with an error when the process ends although nobody has asked it to. */
    onLost(listener) {
      lost = listener;
    },
    async close() {
      closing = true;
      if (running.has(kill)) kill();
      await ended;
    },
  };
}
