import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";

/** Runs the command line program of a package in this process, and waits until it listens. */
export async function runHere(path, args, port) {
  const file = fileURLToPath(new URL(`../node_modules/${path}`, import.meta.url));
  process.argv.splice(1, Number.POSITIVE_INFINITY, file, ...args);
  await import(pathToFileURL(file).href);
  while (!(await isListening(port))) await pause(50);
  return { facts: { port } };
}

export async function isListening(port) {
  const socket = connect({ port, host: "127.0.0.1" });
  const isOpen = once(socket, "connect").then(
    () => true,
    () => false,
  );
  const answer = await isOpen;
  socket.destroy();
  return answer;
}
