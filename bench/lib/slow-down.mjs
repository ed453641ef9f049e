import { z } from "zod";

/**
 * Plants a slow-down into a tool, to show that the gate sees it. `BENCH_SLOW` is `schema`:
 * a schema is made for every call; or a number of microseconds that every call burns.
 */
export function slowDown(run) {
  const how = process.env.BENCH_SLOW;
  if (how === undefined) return run;
  const burn = how === "schema" ? makeSchema : () => spin(Number(how) / 1000);
  return (input) => {
    burn(input);
    return run(input);
  };
}

function makeSchema(input) {
  z.object({ a: z.number(), b: z.number() }).parse(input);
}

function spin(ms) {
  const end = performance.now() + ms;
  while (performance.now() < end);
}
