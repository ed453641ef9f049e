import type { TestResult } from "./run-test.ts";

/** Results in the XML that build servers read. */
export function formatJunit(suite: string, results: readonly TestResult[]): string {
  const failures = results.filter(({ problems }) => problems.length > 0).length;
  const seconds = (ms: number): string => (ms / 1000).toFixed(3);
  const total = seconds(results.reduce((sum, { ms }) => sum + ms, 0));
  const counts = `tests="${results.length}" failures="${failures}" errors="0" time="${total}"`;
  const cases = results.map(({ name, ms, problems }) => {
    const open = `    <testcase classname="${escapeXml(suite)}" name="${escapeXml(name)}" time="${seconds(ms)}"`;
    if (problems.length === 0) return `${open}/>`;
    const [first = ""] = problems;
    const failure = `<failure message="${escapeXml(first)}">${escapeXml(problems.join("\n"))}</failure>`;
    return `${open}>\n      ${failure}\n    </testcase>`;
  });
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${counts}>`,
    `  <testsuite name="${escapeXml(suite)}" ${counts}>`,
    ...cases,
    "  </testsuite>",
    "</testsuites>",
    "",
  ].join("\n");
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
};

/** XML has no way to write control characters and halves of characters. */
function escapeXml(text: string): string {
  return text
    .replaceAll(/[^\P{Cc}\n\t]|[\ufffe\uffff\p{Cs}]/gu, "\ufffd")
    .replaceAll(/[&<>"']/g, (character) => entities[character] ?? "")
    .replaceAll("\n", "&#10;");
}
