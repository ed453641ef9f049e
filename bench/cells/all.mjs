import { clientCells } from "./client.mjs";
import { gatewayCells } from "./gateway.mjs";
import { httpCells } from "./http.mjs";
import { inProcessCells } from "./in-process.mjs";
import { manyToolsCells } from "./many-tools.mjs";
import { sessionCells } from "./sessions.mjs";
import { sizeCells } from "./size.mjs";
import { startCells } from "./start.mjs";
import { stdioCells } from "./stdio.mjs";
import { typeCells } from "./types.mjs";

/**
 * Everything that is measured, in the order of the tables. A cell has peers, those of
 * a quick run (slow peers would not get warm in it), measures, and either `open`, to be sampled in rounds, or `run`, which
 * gives its samples by itself.
 */
export const cells = [
  ...inProcessCells,
  ...stdioCells,
  ...httpCells,
  ...clientCells,
  ...gatewayCells,
  ...manyToolsCells,
  ...sessionCells,
  ...startCells,
  ...sizeCells,
  ...typeCells,
];
