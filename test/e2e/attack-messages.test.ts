import { beforeAll, describe } from "vitest";
import { type AttackReport, attackOverHttp, eachHeld, principals, tools } from "./support/attack-kit.ts";

// What pages, proxies and clients could send to a server over HTTP, by the kit that users run.

describe("a server over HTTP", () => {
  let report: AttackReport;
  beforeAll(async () => {
    report = await attackOverHttp([], [...principals, ...tools(), "--only", "web,framing,messages"]);
  }, 180_000);

  eachHeld(
    "server",
    [
      "foreign-host (V1)",
      "dns-rebinding (V1)",
      "foreign-origin (V2, V3)",
      "simple-post (V2)",
      "compressed-body (V29)",
      "split-response (V19)",
      "internal-headers (V35)",
      "no-credentials (V13)",
      "token-in-query (V30)",
      "other-methods (V2)",
      "no-session (V25)",
      "wrong-revision (V20)",
      "two-lengths (V20)",
      "length-and-chunks (V20)",
      "bad-chunks (V20)",
      "line-feeds-only (V20)",
      "second-request-in-body (V20)",
      "huge-heads (V24)",
      "no-http (V41)",
      "prototype-members (V22)",
      "strange-ids (V34)",
      "huge-names (V23)",
      "invalid-utf8 (V34)",
      "wrong-shapes (V41)",
      "responses-to-nobody (V41)",
      "duplicate-members (V20)",
      "header-mismatch (V20)",
      "path-traversal (V21)",
      "slow-templates (V28)",
      "leaky-errors (V33)",
    ],
    () => report,
  );
});
