const marks = {
  held: "held          ",
  "got through": "GOT THROUGH   ",
  "not applicable": "not applicable",
  "not measured": "not measured  ",
};

/** Prints results as lines, and on a terminal what runs at the moment. */
export function createReport({ json }) {
  const isTerminal = process.stderr.isTTY === true;
  return {
    tell({ begins, result }) {
      if (isTerminal) process.stderr.write(begins === undefined ? "\r\u001b[K" : `\r\u001b[K${begins.id} ...`);
      if (result !== undefined && !json) console.log(lineOf(result));
    },
    /** The last word, and the exit code. */
    end(results) {
      const worked = results.filter(({ verdict }) => verdict === "got through");
      const count = (verdict) => results.filter((result) => result.verdict === verdict).length;
      if (json) {
        process.stdout.write(`${JSON.stringify({ results }, undefined, 2)}\n`);
      } else {
        const others = ["not applicable", "not measured"].map((verdict) => `${count(verdict)} ${verdict}`);
        console.log(`\n${count("held")} held, ${worked.length} got through, ${others.join(", ")}`);
      }
      return worked.length > 0 ? 1 : 0;
    },
  };
}

function lineOf({ id, verdict, evidence, canary, growthMb }) {
  const facts = [
    ...(growthMb === undefined ? [] : [`+${growthMb} MB`]),
    ...(canary?.p99 === undefined ? [] : [`p99 ${canary.p99Before} -> ${canary.p99} ms`]),
  ];
  return `${marks[verdict]}  ${id.padEnd(24)}  ${evidence}${facts.length > 0 ? ` (${facts.join(", ")})` : ""}`;
}

/** The attacks as a table. */
export function listOf(attacks) {
  return attacks
    .map(
      ({ id, group, covers, title }) =>
        `${id.padEnd(24)}  ${group.padEnd(10)}  ${covers.join(", ").padEnd(9)}  ${title}`,
    )
    .join("\n");
}
