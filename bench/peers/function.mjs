// A plain function, for in-process calls: no messages at all.
import { pump } from "../lib/pump.mjs";

export function inProcess() {
  const call = async (a, b) => {
    if (typeof a !== "number" || typeof b !== "number") throw new TypeError("not a number");
    return `${a + b}`;
  };
  return { pump: (inFlight, ms) => pump(call, inFlight, ms) };
}
