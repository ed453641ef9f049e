import {
  type Change,
  type Dialect,
  derive,
  dropMeta,
  inEach,
  inMember,
  inOrder,
  keeping,
  ofType,
  without,
} from "../../protocol/codec/dialect.ts";
import { structuredAsText } from "./older-shapes.ts";
import { r2025_06_18 } from "./r2025-06-18.ts";

/** A link was not a kind of content. A reader can follow it all the same. */
const linkAsText: Change = ({ name, uri, annotations }) => ({
  type: "text",
  text: `${name}: ${uri}`,
  ...(annotations !== undefined && { annotations }),
});

const undated = inMember("annotations", without("lastModified"));

/**
 * 2025-03-26 had names but no titles, tools without structured output, no links
 * in content, and `_meta` only on whole messages.
 *
 * It had no elicitation either, but capabilities were open: a client that says
 * it can be asked, can be asked.
 *
 * The `_meta` of a request was for the progress token. Trace context goes with
 * it nonetheless: the type was open, and a trace should not end at an old peer.
 */
export const r2025_03_26: Dialect = derive("2025-03-26", r2025_06_18, {
  implementation: without("title"),
  tool: without("title", "outputSchema", "_meta"),
  resource: inOrder(without("title", "_meta"), undated),
  contents: dropMeta,
  prompt: inOrder(without("title", "_meta"), inEach("arguments", without("title"))),
  block: inOrder(ofType("resource_link", linkAsText), dropMeta, undated),
  root: dropMeta,
  toolResult: structuredAsText,
  callerMeta: keeping("traceparent", "tracestate", "baggage"),
  completion: inOrder(without("context"), inMember("ref", without("title"))),
});
