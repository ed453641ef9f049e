import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    projects: [
      { test: { name: "unit", include: ["src/**/*.test.ts", "test/architecture.test.ts"] } },
      {
        test: {
          name: "e2e",
          include: ["test/**/*.test.ts"],
          exclude: ["test/architecture.test.ts"],
          testTimeout: 60_000,
        },
      },
    ],
  },
});
