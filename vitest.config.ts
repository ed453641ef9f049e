import { defineConfig } from "vitest/config";

/** Tests that start processes, open many sockets or end a process at every point: too slow for the inner loop. */
const withProcesses = [
  "src/transport/node/**/*.test.ts",
  "src/store/node/**/*.test.ts",
  "src/server/durable-rounds.test.ts",
  "src/server/tasks/recovery.test.ts",
  "src/auth/node/**/*.test.ts",
  "src/connect/every-way.test.ts",
  "src/testing/matrix.test.ts",
];

/** Tests that measure: nothing else runs beside them. */
const measuring = ["test/bench/**/*.test.ts", "test/package/import-time.test.ts"];

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "unit",
          include: ["src/**/*.test.ts", "test/architecture.test.ts"],
          exclude: withProcesses,
          maxWorkers: "100%",
        },
      },
      {
        test: {
          name: "e2e",
          include: ["test/**/*.test.ts", ...withProcesses],
          exclude: ["test/architecture.test.ts", "**/node_modules/**", ...measuring],
          testTimeout: 60_000,
          maxWorkers: "100%",
        },
      },
      {
        test: {
          name: "measured",
          include: measuring,
          testTimeout: 60_000,
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
