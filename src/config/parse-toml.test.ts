import fc from "fast-check";
import { stringify } from "smol-toml";
import { describe, expect, it } from "vitest";
import { findTomlPlaces, placeKey, type TomlPath } from "./parse-toml.ts";

/** What stands at the place of a value. */
function at(text: string, path: TomlPath, length: number): string | undefined {
  const place = findTomlPlaces(text).get(placeKey(path));
  return place === undefined ? undefined : text.slice(place.value, place.value + length);
}

describe("findTomlPlaces", () => {
  const text = `# [not.a.table]
top = 1
[servers."my server".env] # c = 2
'quoted key' = 'it # is' # comment
inline = { a = "x", b.c = [1, { d = '''
long ' text''' }], e = "esc \\" }" }
dotted.key = """a
[b]
c = 3 """
[[list]]
n = 1
[[list]]
n = 2
[list.sub]
m = 3
`;

  it.each<[TomlPath, string]>([
    [["top"], "1"],
    [["servers"], "[servers."],
    [["servers", "my server", "env"], "[servers."],
    [["servers", "my server", "env", "quoted key"], "'it # is'"],
    [["servers", "my server", "env", "inline", "a"], '"x"'],
    [["servers", "my server", "env", "inline", "b", "c", 0], "1,"],
    [["servers", "my server", "env", "inline", "b", "c", 1, "d"], "'''\nlong"],
    [["servers", "my server", "env", "inline", "e"], '"esc'],
    [["servers", "my server", "env", "dotted", "key"], '"""a'],
    [["list", 0, "n"], "1"],
    [["list", 1, "n"], "2"],
    [["list", 1, "sub", "m"], "3"],
  ])("%j begins with %s", (path, begin) => {
    expect(at(text, path, begin.length)).toBe(begin);
  });

  it("finds every value of whatever can be written", () => {
    const key = fc.string({ minLength: 1, unit: "binary-ascii" });
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof({ maxDepth: 4 }, fc.integer(), fc.boolean(), fc.string(), tie("list"), tie("table")),
      list: fc.array(fc.integer()),
      table: fc.dictionary(key, tie("value"), { noNullPrototype: true }),
    }));
    fc.assert(
      fc.property(fc.dictionary(key, value, { noNullPrototype: true }), (table) => {
        const written = stringify(table);
        const places = findTomlPlaces(written);
        for (const [path, leaf] of leaves(table, [])) {
          const place = places.get(placeKey(path));
          // Names that JSON writes in another way than TOML have the place of what is around them.
          if (place === undefined) expect(path.some((part) => /[^ -~]|["\\]/.test(String(part)))).toBe(true);
          else if (typeof leaf !== "string") expect(written.slice(place.value)).toMatch(new RegExp(`^${leaf}\\b`));
          else expect(written.slice(place.value)).toMatch(/^["']/);
        }
      }),
    );
  });

  it("ends for every text, valid or not", () => {
    const pieces = fc.array(fc.constantFrom("[", "]", "{", "}", "=", ".", ",", '"', "'''", "a", "1", "\n", "#", "\\"));
    fc.assert(fc.property(pieces, (words) => void findTomlPlaces(words.join(""))));
  });
});

function* leaves(value: unknown, path: TomlPath): Generator<readonly [TomlPath, string | number | boolean]> {
  if (typeof value !== "object" || value === null) yield [path, value as string | number | boolean];
  else
    for (const [key, member] of Object.entries(value))
      yield* leaves(member, [...path, Array.isArray(value) ? Number(key) : key]);
}
