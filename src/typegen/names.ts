/** Names for types that nobody else has in the same module. */
export interface Names {
  /** The wanted name, or that with a number behind it when it is taken. */
  claim(wanted: string): string;
}

export function createNames(taken: readonly string[]): Names {
  const owned = new Set(taken);
  /** The last number behind a name, so that many of the same take no longer than few. */
  const numbers = new Map<string, number>();

  return {
    claim(wanted) {
      const stem = /\d$/.test(wanted) ? `${wanted}_` : wanted;
      let name = wanted;
      let number = numbers.get(wanted) ?? 1;
      while (owned.has(name)) name = `${stem}${++number}`;
      numbers.set(wanted, number);
      owned.add(name);
      return name;
    },
  };
}

/** `my-server` as `MyServer`: an identifier of plain letters and digits, or `fallback` when there are none to use. */
export function pascalCase(text: string, fallback: string): string {
  const plain = text.slice(0, maxLength).normalize("NFKD").replaceAll(/\p{M}/gu, "");
  const words = plain.match(/[A-Za-z0-9]+/g) ?? [];
  const name = words.map((word) => word.slice(0, 1).toUpperCase() + word.slice(1)).join("");
  return /^[A-Z]/.test(name) ? name : `${fallback}${name}`;
}

const maxLength = 64;
