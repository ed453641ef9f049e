import { runHere } from "../lib/run-here.mjs";

export function gateway({ port, command }) {
  const args = ["--port", String(port), "--host", "127.0.0.1", "--server", "stream", "--", ...command];
  return runHere("mcp-proxy/dist/bin/mcp-proxy.mjs", args, port);
}
