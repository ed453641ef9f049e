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

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "unit",
          include: ["src/**/*.test.ts", "test/architecture.test.ts"],
          exclude: withProcesses,
        },
      },
      {
        test: {
          name: "e2e",
          include: ["test/**/*.test.ts", ...withProcesses],
          exclude: ["test/architecture.test.ts", "**/node_modules/**"],
          testTimeout: 60_000,
        },
      },
    ],
  },
});
