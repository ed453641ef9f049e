import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { editConfig } from "../../src/config/edit-config.ts";
import { parseConfig } from "../../src/config/parse-config.ts";
import { sampleOf, samples, textOf } from "./samples.ts";

const fresh = { command: "node", args: ["new.js", "--level", "2"], env: { A: "1" } };

async function namesIn(text: string, path: string): Promise<readonly string[]> {
  return (await parseConfig(text, { path })).servers.map(({ name }) => name);
}

/** Lines of a text that are comments, or have one behind something. */
function commentsIn(text: string): readonly string[] {
  return text.split("\n").flatMap((line) => /(?:^|\s)(?:\/\/|#)\s.*$/.exec(line)?.[0].trim() ?? []);
}

describe("editConfig", () => {
  it.each(samples)("adds a server to a file of $dialect, and touches nothing else", async (sample) => {
    const { path } = sample;
    const text = textOf(sample);
    const edited = await editConfig(text, { type: "set", name: "new one", entry: fresh }, { path });
    expect(await namesIn(edited, path)).toEqual([...(await namesIn(text, path)), "new one"]);
    expect(commentsIn(edited)).toEqual(commentsIn(text));
    const lines = edited.split("\n");
    const lost = text.split("\n").filter((line) => !lines.includes(line) && !lines.includes(`${line},`));
    expect(lost).toEqual([]);
  });

  it.each(samples)("takes out of a file of $dialect again what it has put in", async (sample) => {
    const { path } = sample;
    const text = textOf(sample);
    const edited = await editConfig(text, { type: "set", name: "new one", entry: fresh }, { path });
    const back = await editConfig(edited, { type: "remove", name: "new one" }, { path });
    expect(back.trimEnd()).toBe(text.trimEnd());
  });

  it.each(samples)("replaces and removes every server of a file of $dialect", async (sample) => {
    const { path } = sample;
    const text = textOf(sample);
    const names = await namesIn(text, path);
    for (const name of names) {
      const replaced = await editConfig(text, { type: "set", name, entry: fresh }, { path });
      expect((await namesIn(replaced, path)).toSorted()).toEqual(names.toSorted());
      const removed = await editConfig(text, { type: "remove", name }, { path });
      expect(await namesIn(removed, path)).toEqual(names.filter((other) => other !== name));
    }
  });

  it("works on JSON in any form, and keeps the comments of other servers", async () => {
    const server = fc.record({
      above: fc.boolean(),
      behind: fc.boolean(),
      inline: fc.boolean(),
      lineBreak: fc.boolean(),
    });
    const forms = fc.record({
      servers: fc.array(server, { maxLength: 4 }),
      indent: fc.constantFrom("  ", "\t", ""),
      eol: fc.constantFrom("\n", "\r\n"),
      comma: fc.boolean(),
      close: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(forms, fc.nat(), fc.boolean(), async (form, pick, removes) => {
        const text = writeJson(form);
        const name = `s${pick % (form.servers.length + 1)}`;
        const edit = removes ? ({ type: "remove", name } as const) : ({ type: "set", name, entry: fresh } as const);
        const edited = await editConfig(text, edit, { path: "a.json" });
        const others = form.servers.flatMap((one, index) => (`s${index}` === name ? [] : { ...one, index }));
        for (const { above, index } of others) if (above) expect(edited).toContain(`// above s${index}`);
        for (const { behind, index } of others) if (behind) expect(edited).toContain(`/* behind s${index} */`);
        if (!form.comma) expect(edited.replaceAll(/\/\/.*|\/\*.*?\*\//g, "")).not.toMatch(/,\s*}/);
      }),
      { numRuns: 500 },
    );
  });

  it("keeps tabs, line ends and what is beside the servers", async () => {
    const text = '{\r\n\t"theme": "x", // mine\r\n\t"mcpServers": {}\r\n}\r\n';
    const edited = await editConfig(text, { type: "set", name: "a", entry: { command: "x" } }, { path: "a.json" });
    expect(edited).toBe(
      '{\r\n\t"theme": "x", // mine\r\n\t"mcpServers": {\r\n\t\t"a": {\r\n\t\t\t"command": "x"\r\n\t\t}\r\n\t}\r\n}\r\n',
    );
  });

  it.each([
    ["/h/.cursor/mcp.json", "", '{\n  "mcpServers": {\n    "a": {\n      "command": "x"\n    }\n  }\n}\n'],
    ["/h/.vscode/mcp.json", "{}", '{\n  "servers": {\n    "a": {\n      "command": "x"\n    }\n  }\n}'],
    ["/h/.codex/config.toml", 'model = "m"\n', 'model = "m"\n\n[mcp_servers.a]\ncommand = "x"\n'],
    ["/h/.codex/config.toml", "", '[mcp_servers.a]\ncommand = "x"\n'],
    ["/h/.config/goose/config.yaml", "", "extensions:\n  a:\n    command: x\n"],
    ["/h/.config/goose/config.yaml", "GOOSE_MODEL: m\n", "GOOSE_MODEL: m\nextensions:\n  a:\n    command: x\n"],
  ])("begins the servers of %s", async (path, text, expected) => {
    expect(await editConfig(text, { type: "set", name: "a", entry: { command: "x" } }, { path })).toBe(expected);
  });

  describe("of YAML", () => {
    const path = "/h/.config/goose/config.yaml";
    const messy = `# my settings
GOOSE_MODEL:   m        # two spaces, and more
list: [ 1,2,   3 ]
quoted: "yes"
single: 'it''s'
folded: >
  a folded
  text

extensions:
    # above one
    one:   # behind one
        cmd: "one"
        args:   [ "a",   'b' ]
        envs: {A: "1",B: "2"}
    # above two
    two:
        cmd: two
        args:
        - x
        -   y
        description: |
            several
              lines

    # above three

    three: {cmd: three, args: ["z"]}
    # after the last


other:
  -  a
  -  b # end
`;

    /** The lines that are not in both, in their order. */
    const changedLines = (before: string, after: string) => {
      const [old, now] = [before.split("\n"), after.split("\n")];
      let start = 0;
      while (start < old.length && old[start] === now[start]) start++;
      let end = 0;
      while (end < Math.min(old.length, now.length) - start && old.at(-1 - end) === now.at(-1 - end)) end++;
      return { gone: old.slice(start, old.length - end), come: now.slice(start, now.length - end) };
    };

    it("adds a server, and changes no other line (X10)", async () => {
      const edited = await editConfig(messy, { type: "set", name: "four", entry: fresh }, { path });
      expect(changedLines(messy, edited)).toEqual({
        gone: [],
        come: [
          "    four:",
          "        command: node",
          "        args:",
          "          - new.js",
          "          - --level",
          '          - "2"',
          "        env:",
          '            A: "1"',
        ],
      });
    });

    it.each([
      ["one", ['        cmd: "one"', "        args:   [ \"a\",   'b' ]", '        envs: {A: "1",B: "2"}']],
      [
        "two",
        [
          "        cmd: two",
          "        args:",
          "        - x",
          "        -   y",
          "        description: |",
          "            several",
          "              lines",
        ],
      ],
      ["three", ['    three: {cmd: three, args: ["z"]}']],
    ])("replaces %s, and changes no other line (X10)", async (name, own) => {
      const edited = await editConfig(messy, { type: "set", name, entry: { command: "x" } }, { path });
      const { gone, come } = changedLines(messy, edited);
      expect(gone).toEqual(own);
      expect(come).toEqual(name === "three" ? ["    three:", "        command: x"] : ["        command: x"]);
    });

    it.each([
      ["one", 4],
      ["two", 8],
      ["three", 1],
    ])("removes %s, and changes no other line (X10)", async (name, count) => {
      const edited = await editConfig(messy, { type: "remove", name }, { path });
      const { gone, come } = changedLines(messy, edited);
      expect(come).toEqual([]);
      expect(gone.length).toBe(count);
      expect(gone[0]).toContain(`${name}:`);
    });

    it("keeps line ends, and files without one at their end (X10)", async () => {
      const text = "a:  1 # x\r\nextensions:\r\n  one:\r\n    cmd: x\r\nb:   2";
      const edited = await editConfig(text, { type: "set", name: "two", entry: { command: "y" } }, { path });
      expect(edited).toBe("a:  1 # x\r\nextensions:\r\n  one:\r\n    cmd: x\r\n  two:\r\n    command: y\r\nb:   2");
      expect(await editConfig(edited, { type: "remove", name: "two" }, { path })).toBe(text);
      const short = "a:   1\nextensions:\n  one:  {cmd: x}";
      const longer = await editConfig(short, { type: "set", name: "two", entry: { command: "y" } }, { path });
      expect(longer).toBe("a:   1\nextensions:\n  one:  {cmd: x}\n  two:\n    command: y\n");
    });

    it.each([
      [
        "a:   1\nextensions: {}   # none yet\nb:  2\n",
        "a:   1\nextensions:   # none yet\n  x:\n    command: y\nb:  2\n",
      ],
      ["a:   1\nextensions:   # none yet\nb:  2\n", "a:   1\nextensions:   # none yet\n  x:\n    command: y\nb:  2\n"],
      ["a:   1\n# the end\n", "a:   1\nextensions:\n  x:\n    command: y\n# the end\n"],
      ["# nothing\n", "# nothing\nextensions:\n  x:\n    command: y\n"],
      ["---\na:   1\n", "---\na:   1\nextensions:\n  x:\n    command: y\n"],
      [
        "extensions: {one: {cmd: z},   two:  {cmd: z}}\n",
        "extensions: {one: {cmd: z},   two:  {cmd: z}, x: {command: y}}\n",
      ],
      ["{extensions: {}}\n", "{extensions: {x: {command: y}}}\n"],
      ['"extensions":\n- no\n', undefined],
    ])("begins or lengthens the servers of %j (X10)", async (text, expected) => {
      const edited = editConfig(text, { type: "set", name: "x", entry: { command: "y" } }, { path });
      if (expected === undefined) await expect(edited).rejects.toMatchObject({ code: "invalid-config" });
      else expect(await edited).toBe(expected);
    });

    it.each([
      ["extensions: {one: {cmd: z},   two:  {cmd: z}}\n", "one", "extensions: {two:  {cmd: z}}\n"],
      ["extensions: {one: {cmd: z},   two:  {cmd: z}}\n", "two", "extensions: {one: {cmd: z}}\n"],
      ["extensions: { one: {cmd: z} }\n", "one", "extensions: {}\n"],
      ["extensions:\n  one:\n    cmd: z\nb:   1\n", "one", "extensions:\nb:   1\n"],
    ])("removes from %j the server %s (X10)", async (text, name, expected) => {
      expect(await editConfig(text, { type: "remove", name }, { path })).toBe(expected);
    });

    it("changes the lines of one server only, whatever the others look like (X10)", async () => {
      const bodies = [
        " {cmd: x}",
        "   # a comment\n@@cmd: x",
        "\n@@cmd:    x # a comment\n\n@@args:  [ a,b ]",
        "\n@@cmd: x\n@@description: |\n@@@text\n\n@@@more",
        "\n@@args:\n@@- a\n@@-  b\n@@cmd: 'x'\n@# between",
        "\n@@'cmd': \"x\"\n\n\n@@envs:\n@@@A:   '1'\n# outside",
      ];
      const forms = fc.record({
        servers: fc.array(fc.constantFrom(...bodies), { minLength: 1, maxLength: 4 }),
        indent: fc.constantFrom("  ", "    ", " "),
        eol: fc.constantFrom("\n", "\r\n"),
        before: fc.constantFrom("", "# top\n", "---\na:   1\n\n"),
        after: fc.constantFrom("", "b:   [ 2,3 ]\n", "\n# the end\n"),
      });
      await fc.assert(
        fc.asyncProperty(forms, fc.nat(), fc.boolean(), async (form, pick, removes) => {
          const entries = form.servers.map((body, index) => `@s${index}:${body}\n`);
          const text = `${form.before}extensions:\n${entries.join("")}${form.after}`
            .replaceAll("@", form.indent)
            .replaceAll("\n", form.eol);
          const name = `s${pick % (form.servers.length + 1)}`;
          const edit = removes ? ({ type: "remove", name } as const) : ({ type: "set", name, entry: fresh } as const);
          const { gone } = changedLines(text, await editConfig(text, edit, { path }));
          const own = form.servers[Number(name.slice(1))]?.split("\n").length ?? 0;
          expect(gone.length).toBeLessThanOrEqual(own);
        }),
        { numRuns: 500 },
      );
    });

    it("does not break what others refer to (X10)", async () => {
      const text = "extensions:\n  one: &one\n    cmd: x\n  two:\n    <<: *one\n    name: t\n";
      await expect(editConfig(text, { type: "remove", name: "one" }, { path })).rejects.toThrow(
        "one cannot be changed here without touching other parts",
      );
      const edited = await editConfig(text, { type: "remove", name: "two" }, { path });
      expect(edited).toBe("extensions:\n  one: &one\n    cmd: x\n");
    });
  });

  it("keeps a byte order mark", async () => {
    const edited = await editConfig(
      '\ufeff{ "mcpServers": {} }',
      { type: "set", name: "a", entry: fresh },
      { path: "a.json" },
    );
    expect(edited).toMatch(/^\ufeff{ "mcpServers": {\n/);
  });

  it("leaves a file alone that does not have what is to be removed", async () => {
    const text = textOf(sampleOf("codex"));
    expect(await editConfig(text, { type: "remove", name: "none" }, { path: "/h/.codex/config.toml" })).toBe(text);
  });

  it.each([
    ["mcp_servers.a = { command = 'x' }", "a is not written as a table of its own"],
    ["[mcp_servers]\na.command = 'x'", "a is not written as a table of its own"],
  ])("says so when %j cannot be changed", async (text, message) => {
    const options = { path: "/h/.codex/config.toml" };
    await expect(editConfig(text, { type: "remove", name: "a" }, options)).rejects.toThrow(message);
    await expect(editConfig(text, { type: "set", name: "a", entry: fresh }, options)).rejects.toThrow(message);
  });

  it.each([
    [
      { type: "set", name: "a:b", entry: fresh } as const,
      'a.json: "a:b": the name "a:b" has a colon in it (rename it)',
    ],
    [
      { type: "set", name: "a", entry: {} } as const,
      "a.json: a: there is neither a command nor a URL (write command and args, or url)",
    ],
  ])("does not write what could not be read: %j", async (edit, message) => {
    await expect(editConfig('{ "mcpServers": {} }', edit, { path: "a.json" })).rejects.toThrow(message);
  });

  it("does not touch a file that is broken", async () => {
    await expect(editConfig("{", { type: "remove", name: "a" }, { path: "a.json" })).rejects.toThrow(/^a.json:1:2: /);
  });
});

interface JsonForm {
  readonly servers: readonly {
    readonly above: boolean;
    readonly behind: boolean;
    readonly inline: boolean;
    readonly lineBreak: boolean;
  }[];
  readonly indent: string;
  readonly eol: string;
  /** Whether a comma follows the last server. */
  readonly comma: boolean;
  /** Whether the closing brace is on a line of its own. */
  readonly close: boolean;
}

function writeJson({ servers, indent, eol, comma, close }: JsonForm): string {
  const entries = servers.map(({ above, behind, inline, lineBreak }, index) => {
    const before = above
      ? `${eol}${indent}${indent}// above s${index}${eol}`
      : lineBreak
        ? `${eol}${indent}${indent}`
        : " ";
    const body = inline
      ? '{ "command": "x" }'
      : `{${eol}${indent}${indent}${indent}"command": "x"${eol}${indent}${indent}}`;
    const separator = index < servers.length - 1 || comma ? "," : "";
    return `${before}"s${index}": ${body}${separator}${behind ? ` /* behind s${index} */` : ""}`;
  });
  return `{${eol}${indent}"mcpServers": {${entries.join("")}${close ? eol + indent : " "}}${eol}}${eol}`;
}
