// Completes package-lock.json with the optional packages of other platforms.
//
// npm leaves out of the lock what it could not fetch when it was written, and
// `npm ci` then refuses the lock. Run this after every change of dependencies;
// the lock of another folder is completed by naming it: `complete-lock.mjs test/conformance`.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./run.mjs";

const file = join(root, process.argv[2] ?? ".", "package-lock.json");
const lock = JSON.parse(readFileSync(file, "utf8"));
const systems = ["aix", "android", "darwin", "freebsd", "linux", "netbsd", "openbsd", "openharmony", "sunos", "win32"];
const processors = ["arm64", "arm", "ia32", "loong64", "mips64el", "ppc64", "riscv64", "s390x", "wasm32", "x64"];

let added = 0;
for (const { optionalDependencies = {}, dev } of Object.values(lock.packages)) {
  for (const [name, version] of Object.entries(optionalDependencies)) {
    const key = `node_modules/${name}`;
    const words = name.split(/[^a-z0-9]+/);
    const os = systems.filter((system) => words.includes(system));
    const cpu = processors.filter((processor) => words.includes(processor));
    if (lock.packages[key] !== undefined || os.length + cpu.length === 0) continue;
    lock.packages[key] = { version, cpu, ...(dev && { dev }), optional: true, os };
    if (os.length === 0) delete lock.packages[key].os;
    added++;
  }
}

const entries = Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1));
writeFileSync(file, `${JSON.stringify({ ...lock, packages: Object.fromEntries(entries) }, null, 2)}\n`);
console.log(`${added} optional packages added`);
