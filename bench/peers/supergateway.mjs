import { runHere } from "../lib/run-here.mjs";

export function gateway({ port, command }) {
  const way = ["--outputTransport", "streamableHttp", "--stateful", "--logLevel", "none"];
  return runHere("supergateway/dist/index.js", ["--stdio", command.join(" "), ...way, "--port", String(port)], port);
}
