<<<<<<<< HEAD:test/frameworks/install.mjs
// Installs what a folder beside this file names, into another folder, unless it is there already:
//
//   node test/frameworks/install.mjs next .tmp/next
========
// Installs the packages of a lock file into a folder, unless they are there already:
//
//   node test/support/install-locked.mjs test/frameworks/next .tmp/next
>>>>>>>> 720850c (test: compare the command line with mcporter, and look for leftovers in every round):test/support/install-locked.mjs
//
// Ends with 69 when there is no network to install from.
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const UNAVAILABLE = 69;
<<<<<<<< HEAD:test/frameworks/install.mjs
const [name, folder] = process.argv.slice(2);
const here = join(dirname(fileURLToPath(import.meta.url)), name);
========
const [source, folder] = process.argv.slice(2);
>>>>>>>> 720850c (test: compare the command line with mcporter, and look for leftovers in every round):test/support/install-locked.mjs
const stamp = join(folder, "node_modules", ".installed");
const wanted = `${process.platform}-${process.arch}\n${readFileSync(join(source, "package-lock.json"), "utf8")}`;

if (!existsSync(stamp) || readFileSync(stamp, "utf8") !== wanted) install();

function install() {
  mkdirSync(folder, { recursive: true });
<<<<<<<< HEAD:test/frameworks/install.mjs
  for (const file of ["package.json", "package-lock.json", ".npmrc"])
    copyFileSync(join(here, file), join(folder, file));
========
  for (const name of ["package.json", "package-lock.json", ".npmrc"]) {
    copyFileSync(join(source, name), join(folder, name));
  }
>>>>>>>> 720850c (test: compare the command line with mcporter, and look for leftovers in every round):test/support/install-locked.mjs
  const args = ["ci", "--prefer-offline", "--loglevel=error", "--fetch-retries=1", "--fetch-retry-mintimeout=1000"];
  const { status, stderr, error } = spawnSync("npm", args, {
    cwd: folder,
    shell: process.platform === "win32",
    stdio: ["ignore", "ignore", "pipe"],
    encoding: "utf8",
  });
  if (status === 0) return writeFileSync(stamp, wanted);
<<<<<<<< HEAD:test/frameworks/install.mjs
  console.error(`${name} cannot be installed: ${error?.message ?? stderr}`);
========
  console.error(`${source} cannot be installed: ${error?.message ?? stderr}`);
>>>>>>>> 720850c (test: compare the command line with mcporter, and look for leftovers in every round):test/support/install-locked.mjs
  const offline = /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ENETUNREACH|EHOSTUNREACH|ETIMEDOUT|ENOTCACHED)\b/;
  process.exit(offline.test(stderr ?? "") ? UNAVAILABLE : 1);
}
