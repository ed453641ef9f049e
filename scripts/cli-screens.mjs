// Writes the screens of docs/cli.md: runs `plugbay` in a terminal (tmux), types, and copies what is to be seen between the marks
// `<!-- screen: name -->` and `<!-- end -->`. Needs tmux and a build: `node scripts/cli-screens.mjs`. With `--check` nothing is
// written: it ends with 1 where the page has another screen.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "./run.mjs";

const page = join(root, "docs", "cli.md");
const home = mkdtempSync(join(tmpdir(), "plugbay-screens-"));
let socket = "";
const tmux = (...args) => execFileSync("tmux", ["-L", socket, "-f", "/dev/null", ...args], { encoding: "utf8" });

const program = join(home, "plugbay");
writeFileSync(program, `#!/bin/sh\nexec "${process.execPath}" "${join(root, "dist/node/plugbay.js")}" "$@"\n`, {
  mode: 0o755,
});
writeFileSync(
  join(home, "mcp.json"),
  JSON.stringify({
    mcpServers: { bistro: { command: process.execPath, args: [join(root, "examples/bistro-server.mjs")] } },
  }),
);

/** Each step waits until the screen has a text, and then types. The screen is copied when the last text is there. */
const screens = {
  tools: [{ type: "plugbay tools bistro" }, { wait: /cook\(dish\)[^$]*\$ $/ }],
  call: [{ type: "plugbay call bistro:menu vegetarian=true" }, { wait: /quiche: 11[^$]*\$ $/ }],
  progress: [{ type: "plugbay call bistro:cook dish=bouillabaisse" }, { wait: / [1-9]\d %/ }],
  cancelled: [
    { type: "plugbay call bistro:cook dish=bouillabaisse" },
    { wait: / [1-9]\d %/, keys: ["C-c"] },
    { wait: /interrupted[^$]*\$ $/ },
  ],
  form: [{ type: "plugbay call bistro:order dish=quiche" }, { wait: /●|○|›/, keys: ["y"] }, { wait: /Send this\?/ }],
  error: [{ type: "plugbay call bistro ordr dish=quiche" }, { wait: /did you mean[^$]*\$ $/ }],
};

try {
  const before = readFileSync(page, "utf8");
  let text = before;
  for (const [name, steps] of Object.entries(screens)) {
    // A terminal that is going must not be taken for the next one.
    socket = `plugbay-screens-${process.pid}-${name}`;
    const screen = await show(steps);
    const marks = new RegExp(`(<!-- screen: ${name} -->\n).*?(<!-- end -->)`, "s");
    if (!marks.test(text)) throw new Error(`docs/cli.md has no place for the screen ${name}`);
    text = text.replace(marks, (_, begin, end) => `${begin}\`\`\`text\n${screen}\n\`\`\`\n${end}`);
  }
  if (!process.argv.includes("--check")) writeFileSync(page, text);
  else if (withoutTimes(text) !== withoutTimes(before)) {
    console.error(
      `docs/cli.md has other screens than plugbay; run node scripts/cli-screens.mjs\n${differences(before, text)}`,
    );
    process.exitCode = 1;
  }
} finally {
  rmSync(home, { recursive: true, force: true });
}

/** A page whose screens do not depend on how far a progress bar is. */
function withoutTimes(text) {
  return text.replaceAll(/▕[^▏]*▏ +\d+ % +\d+\.\d s/g, "▕▏ % s");
}

/** The lines that only one of the pages has. */
function differences(before, after) {
  const [old, now] = [before, after].map((text) => withoutTimes(text).split("\n"));
  const only = (lines, others, mark) => lines.filter((line) => !others.includes(line)).map((line) => `${mark} ${line}`);
  return [...only(old, now, "-"), ...only(now, old, "+")].join("\n");
}

/** Runs the steps in a terminal of their own, and returns what is to be seen in the end. */
async function show(steps) {
  const env = ["PS1=$ ", `PATH=${home}:/usr/bin:/bin`, `HOME=${home}`, "NO_COLOR=1", "LC_ALL=C.UTF-8"];
  tmux("-u", "new-session", "-d", "-x", "92", "-y", "24", "-c", home, "env", ...env, "/bin/sh", "-i");
  try {
    let screen = await until(/\$ $/);
    for (const { type, wait, keys } of steps) {
      if (type !== undefined) tmux("send-keys", type, "Enter");
      if (wait !== undefined) screen = await until(wait);
      if (keys !== undefined) tmux("send-keys", ...keys);
    }
    return screen.replace(/\n\$ $/, "").trimEnd();
  } finally {
    tmux("kill-server");
  }
}

/** The screen when it has a text. */
async function until(wanted) {
  for (const deadline = Date.now() + 20_000; Date.now() < deadline; ) {
    const screen = tmux("capture-pane", "-p").trimEnd().replace(/\$$/, "$ ");
    if (wanted.test(screen)) return screen;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`the screen never has ${wanted}: ${tmux("capture-pane", "-p")}`);
}
