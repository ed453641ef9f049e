import { beforeAll, describe } from "vitest";
import { type AttackReport, attack, attackedServer, eachHeld, tools } from "./support/attack-kit.ts";

// What a client could write to a server over stdio. Each attack has a process of its own.

describe("a server over stdio", () => {
  let report: AttackReport;
  beforeAll(async () => {
    const { command, args } = attackedServer("--stdio");
    const about = ["--skip", "duplicate-members,header-mismatch"];
    report = await attack(...tools(), ...about, "--", command, ...args);
  }, 300_000);

  eachHeld(
    "stdio",
    [
      "prototype-members (V22)",
      "strange-ids (V34)",
      "huge-names (V23)",
      "invalid-utf8 (V34)",
      "wrong-shapes (V41)",
      "responses-to-nobody (V41)",
      "path-traversal (V21)",
      "slow-templates (V28)",
      "leaky-errors (V33)",
      "stdio-no-newline (V23)",
      "stdio-long-line (V23)",
      "stdio-deep-json (H2)",
      "stdio-wide-json (S3)",
      "stdio-unread (S2)",
      "stdio-flood (V23)",
      "stdio-batch (H8)",
      "stdio-garbage (V41)",
      "stdio-slow-line (V24)",
      "stdio-half-line (V32)",
      "stdio-end (V32)",
      "stdio-stdout (V41)",
    ],
    () => report,
  );
});
