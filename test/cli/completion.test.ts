import { chmodSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { find } from "../../scripts/system-programs.mjs";
import { createHome, type Home, json, plugbay, program, shopFile } from "./support/cli.ts";
import { keys, programInTerminal, python, type Step } from "./support/terminal.ts";

// The scripts of `plugbay completion`, in the shells that they are for: somebody types the beginning of a word and Tab.

let home: Home;
beforeAll(() => {
  const made = createHome();
  chmodSync(made.write("bin/plugbay", `#!/bin/sh\nexec "${process.execPath}" "${program}" "$@"\n`), 0o755);
  made.write("mcp.json", { mcpServers: { shop: { command: process.execPath, args: [shopFile] } } });
  made.write("letters.txt", "a file");
  for (const file of ["bashrc", ".zshrc"]) made.write(file, "PS1='$ '\n");
  home = { ...made, env: { ...made.env, PATH: `${join(made.folder, "bin")}:${made.env.PATH}`, ZDOTDIR: made.folder } };
});

/** Loads a script, completes a command, an option with its value, the name of a server, and a file. */
const typed = (load: string): readonly Step[] => [
  { expect: "$ ", send: `${load}; echo rea''dy${keys.enter}` },
  { expect: "ready", send: "" },
  { expect: "$ ", send: `plugbay too${keys.tab}` },
  { expect: "plugbay tools ", send: `--rev${keys.tab}` },
  { expect: "ision ", send: `2026${keys.tab}` },
  { expect: "-07-28 ", send: `sho${keys.tab}` },
  { expect: "shop ", send: `${keys.ctrlU}plugbay read letter${keys.tab}` },
  { expect: "s.txt", send: `${keys.ctrlU}exit${keys.enter}` },
];

const shells = [
  ["bash", ["--rcfile", "bashrc", "-i"], "source <(plugbay completion bash)"],
  ["zsh", ["-d", "-i"], "autoload -U compinit; compinit -u -D; source <(plugbay completion zsh)"],
  [
    "fish",
    ["--no-config", "--init-command", 'function fish_prompt; echo -n "\\$ "; end'],
    "plugbay completion fish | source",
  ],
] as const;

describe("completion words", () => {
  const wordsAfter = async (...words: readonly string[]): Promise<unknown> =>
    json(await plugbay(home, ["completion", "words", "--json", "--", ...words]));

  it.each([
    [
      ["config", ""],
      ["show", "explain", "convert"],
    ],
    [["config", "explain", ""], ["shop"]],
    [
      ["warm", "st"],
      ["status", "stop"],
    ],
    [["warm", "stop", ""], ["shop"]],
    [["remove", "s"], ["shop"]],
    [["call", "--timeout", "3s", ""], ["shop"]],
    [["call", "shop", ""], []],
    [["completion", "b"], ["bash"]],
  ])("%j may go on with %j", async (typed, words) => {
    expect(await wordsAfter(...typed)).toEqual({ words });
  });
});

describe.skipIf(python === undefined)("completion", () => {
  for (const [name, args, load] of shells) {
    const shell = find(name);
    it.skipIf(shell === undefined)(`works in ${name}`, async () => {
      const session = await programInTerminal(home, [shell ?? "", ...args], typed(load));
      expect(session, session.text).toMatchObject({ failed: null, left: [] });
    });
  }
});
