/** The attack did no harm. `evidence` is one sentence of what was seen. */
export function held(evidence) {
  return { verdict: "held", evidence };
}

/** The attack worked. `evidence` is one sentence of what was seen. */
export function gotThrough(evidence) {
  return { verdict: "got through", evidence };
}

/** The server does not offer what the attack is about, or the kit was not told enough. `why` says which. */
export function notApplicable(why) {
  return { verdict: "not applicable", evidence: why };
}

/** What the attack cost the server is all there is to say, and nobody measured it. `evidence` is what was done. */
export function notMeasured(evidence) {
  return { verdict: "not measured", evidence: `the memory of the server was not measured (--pid); ${evidence}` };
}

/** The verdict on several attempts: one that worked is enough. */
export function judge(problems, evidence) {
  const [first, ...others] = problems;
  if (first === undefined) return held(evidence);
  return gotThrough(others.length > 0 ? `${first} (and ${others.length} more)` : first);
}

/** A text of the server, short enough for a line and without control characters. */
export function quoted(text, max = 80) {
  const plain = [...String(text)].map((char) => (char < " " || char === "\u007f" ? "." : char)).join("");
  return JSON.stringify(plain.length > max ? `${plain.slice(0, max)}...` : plain);
}
