/** Whether a text matches one of the globs. `*` matches any characters, `?` one. */
export function toMatcher(globs: readonly string[]): (text: string) => boolean {
  const plain = new Set(globs.filter((glob) => !/[*?]/.test(glob)));
  const parts = globs.filter((glob) => /[*?]/.test(glob)).map((glob) => glob.replaceAll(/\*+/g, "*"));
  return (text) => plain.has(text) || parts.some((glob) => fits(text, glob));
}

/**
 * One pass that goes back to the last star when it gets stuck: at worst the
 * product of the two lengths, whatever the glob.
 */
function fits(text: string, glob: string): boolean {
  let at = 0;
  let in_ = 0;
  let star = -1;
  let retry = 0;
  while (at < text.length) {
    if (glob[in_] === "*") {
      star = in_++;
      retry = at;
    } else if (in_ < glob.length && (glob[in_] === "?" || glob[in_] === text[at])) {
      at++;
      in_++;
    } else if (star >= 0) {
      in_ = star + 1;
      at = ++retry;
    } else {
      return false;
    }
  }
  while (glob[in_] === "*") in_++;
  return in_ === glob.length;
}
