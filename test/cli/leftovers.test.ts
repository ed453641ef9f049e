import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "../e2e/support/places.ts";
import { isRunning, until } from "../fixtures/children/processes.ts";
import { createHome, plugbay } from "./support/cli.ts";

// No process is left behind, however a command and its server end.

const home = createHome();
const clinging = join(root, "test", "fixtures", "children", "clinging-server.mjs");

const pidsIn = (stdout: string): readonly number[] => {
  const pids = stdout.trim().split(" ").map(Number);
  expect(pids.length).toBeGreaterThan(0);
  expect(pids.every((pid) => pid > 0)).toBe(true);
  return pids;
};

describe("a command", () => {
  it.each([
    ["ends with its stdin", []],
    ["has a family", ["family"]],
    ["ignores EOF and SIGTERM, with its family", ["ignores", "family"]],
  ])("leaves no process of a server that %s (P2)", async (_, manners) => {
    const { code, stdout } = await plugbay(home, ["call", "pids", "--", process.execPath, clinging, ...manners]);
    expect(code).toBe(0);
    const pids = pidsIn(stdout);
    await until(() => !pids.some(isRunning));
  });

  it("that is killed leaves no process (P2)", async () => {
    let pids: readonly number[] = [];
    const input = "pids\nwatch\n";
    const ended = await plugbay(home, ["shell", "--", process.execPath, clinging, "ignores", "family"], {
      input,
      onStart: (child) => void until(() => pids.length > 0).then(() => child.kill("SIGKILL")),
      onOutput: ({ stdout }) => {
        if (stdout.includes("\n")) pids = pidsIn(stdout);
      },
    });
    expect(ended.code).toBe(null);
    await until(() => !pids.some(isRunning));
  });
});
