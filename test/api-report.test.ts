import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { apiReport, reportFile } from "../scripts/api-report.mjs";

it("every entry exports what test/api-report.md lists", () => {
  const update =
    "the public API changed: if that is meant, run `node scripts/api-report.mjs` and name it in CHANGELOG.md";
  expect(apiReport(), update).toBe(readFileSync(reportFile, "utf8"));
});
