import { spawnSync } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** Programs that some tests need: by which names they go, and which Debian package has them. */
const programs = {
  chromium: { names: ["chromium", "chromium-browser", "google-chrome"], debian: "chromium" },
  bash: { names: ["bash"], debian: "bash" },
  dbus: { names: ["dbus-daemon"], debian: "dbus" },
  fish: { names: ["fish"], debian: "fish" },
  keyring: { names: ["gnome-keyring-daemon"], debian: "gnome-keyring" },
  nginx: { names: ["nginx"], debian: "nginx-light" },
  python: { names: ["python3"], debian: "python3-minimal" },
  redis: { names: ["redis-server", "valkey-server"], debian: "redis-server" },
  tmux: { names: ["tmux"], debian: "tmux" },
  zsh: { names: ["zsh"], debian: "zsh" },
};

/** Where a program is, or undefined. */
export function find(name) {
  const { names } = programs[name];
  const folders = (process.env.PATH ?? "").split(delimiter);
  return folders.flatMap((folder) => names.map((file) => join(folder, file))).find(isExecutable);
}

/** Installs what is missing, where that is possible without asking anybody. */
export function installMissing() {
  const missing = Object.keys(programs).filter((name) => find(name) === undefined);
  if (missing.length === 0 || process.platform !== "linux" || process.getuid?.() !== 0) return;
  const apt = (...args) =>
    spawnSync("apt-get", args, { stdio: "ignore", env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" } });
  if (apt("--version").status !== 0) return;
  const packages = missing.map((name) => programs[name].debian);
  console.log(`installing ${packages.join(", ")} for the tests`);
  if (apt("install", "-y", "--no-install-recommends", ...packages).status === 0) return;
  apt("update");
  const { status } = apt("install", "-y", "--no-install-recommends", ...packages);
  if (status !== 0) console.log("that did not work; the tests that need them are skipped");
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
