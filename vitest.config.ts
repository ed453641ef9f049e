import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

/** Tests that start processes, open many sockets or end a process at every point: too slow for the inner loop. */
const withProcesses = [
  "src/transport/node/**/*.test.ts",
  "src/store/node/**/*.test.ts",
  "src/server/runs/shared-rounds.test.ts",
  "src/server/tasks/recovery.test.ts",
  "src/auth/node/**/*.test.ts",
  "src/connect/every-way.test.ts",
  "src/testing/matrix.test.ts",
];

/** Tests that measure, and the official suite, for which half a second is silence: nothing else runs beside them. */
const onTheirOwn = [
  "test/bench/**/*.test.ts",
  "test/package/import-time.test.ts",
  "test/conformance/**/*.test.ts",
  "test/e2e/attack-{bodies,memory,messages,sessions,stdio,unread}.test.ts",
];

/** To notice what hangs, not what is slow: how long a test takes is up to whoever else has the processor. */
const patience = { testTimeout: 60_000, hookTimeout: 60_000 };

/** One more than there are processors: tests with processes wait for those half of their time. */
const maxWorkers = availableParallelism() + 1;

/** The source of what `package.json` maps to the built package, and property tests with a fixed seed. */
const resolve = {
  alias: [
    { find: "fast-check", replacement: fileURLToPath(new URL("test/support/fast-check.ts", import.meta.url)) },
    { find: /^#legacy\/(.*)$/, replacement: `${fileURLToPath(new URL("src/legacy/", import.meta.url))}$1.ts` },
  ],
};

export default defineConfig({
  test: {
    projects: [
      {
        resolve,
        test: {
          name: "unit",
          include: ["src/**/*.test.ts", "test/architecture.test.ts"],
          exclude: withProcesses,
          ...patience,
          // One load of the sources for all files of a worker.
          isolate: false,
          maxWorkers,
        },
      },
      {
        resolve,
        test: {
          name: "e2e",
          include: ["test/**/*.test.ts", ...withProcesses],
          exclude: ["test/architecture.test.ts", "**/node_modules/**", ...onTheirOwn],
          globalSetup: "test/support/built.ts",
          ...patience,
          maxWorkers,
        },
      },
      {
        resolve,
        test: {
          name: "alone",
          include: onTheirOwn,
          globalSetup: "test/support/built.ts",
          ...patience,
          maxWorkers: 1,
          maxConcurrency: 2,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
