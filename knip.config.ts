import type { KnipConfig } from "knip";
import { readExports, sourcesOf } from "./scripts/entries.mjs";

const config: KnipConfig = {
  // What package.json exports is used by whoever installs the package.
  entry: [
    ...sourcesOf(readExports()),
    "src/cli/main.ts",
    "scripts/*.mjs",
    "scripts/**/*.d.mts",
    "examples/*.mjs",
    "examples/production/{start,server,identity-provider}.mjs",
    "test/**/*.test.ts",
    "test/fixtures/**/*.mjs",
    "test/fixtures/children/traced.ts",
    "test/fixtures/children/task-memory.ts",
    "test/fixtures/children/attacked-server.ts",
    "test/fixtures/children/attacker.ts",
    "test/fixtures/without-legacy/*.ts",
    "test/store/sqlite-child.ts",
    "test/support/keychain-child.ts",
    "test/support/redis-child.ts",
    "test/auth/support/refresh-child.ts",
    "test/conformance/suite.mjs",
    "test/support/install-locked.mjs",
    "src/**/*.test-d.ts",
  ],
  project: ["src/**/*.ts", "scripts/**", "examples/**", "test/**"],
  ignoreDependencies: [
    "@modelcontextprotocol/server-everything",
    "@modelcontextprotocol/server-filesystem",
    "@modelcontextprotocol/inspector",
    "@arethetypeswrong/cli",
    "publint",
    "typescript-5.7",
  ],
  ignoreExportsUsedInFile: true,
  ignoreBinaries: ["apt-get", "openssl"],
};

export default config;
