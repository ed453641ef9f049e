/** One reference token of a JSON Pointer (RFC 6901), escaped and with its slash. */
export function token(key: PropertyKey): string {
  return `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

/** The keys a JSON Pointer leads through. */
export function pointerKeys(pointer: string): readonly string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
}
