import { beforeAll, describe } from "vitest";
import { type AttackReport, attackOverHttp, eachHeld, principals, tools } from "./support/attack-kit.ts";

// What one client could make a server over HTTP hold, measured in the process of the server, while another client calls.

describe("a server over HTTP", () => {
  let report: AttackReport;
  beforeAll(async () => {
    report = await attackOverHttp([], [...principals, ...tools(), "--only", "memory,slow-heads"]);
  }, 600_000);

  eachHeld(
    "server",
    [
      "unread-answers (S2)",
      "unread-streams (S2)",
      "half-sent-bodies (H1)",
      "half-chunked-bodies (H1)",
      "wide-json (S3)",
      "oversize-body (V23)",
      "many-sessions (S9)",
      "large-sessions (S9)",
      "many-subscriptions (S10)",
      "many-streams (V25)",
      "many-listeners (V25)",
      "many-connections (V24)",
      "batches (H8)",
      "deep-json (H2)",
      "slow-heads (V24)",
    ],
    () => report,
  );
});
