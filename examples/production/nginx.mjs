import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { findProgram, isThere, startProgram } from "./processes.mjs";

export async function findNginx() {
  const program = await findProgram("nginx");
  if (program !== undefined) return program;
  throw new Error("nginx was not found; install it (on Debian: apt-get install nginx-light) and start again");
}

/** Starts nginx in front of the servers. */
export async function startNginx({ program, port, servers, folder }) {
  const values = {
    PORT: port,
    FOLDER: folder,
    SERVERS: servers.map(({ port }) => `server 127.0.0.1:${port} max_fails=1 fail_timeout=5s;`).join("\n    "),
  };
  const template = await readFile(new URL("nginx.conf.template", import.meta.url), "utf8");
  const path = join(folder, "nginx.conf");
  await writeFile(
    path,
    template.replaceAll(/\$\{(\w+)\}/g, (_, name) => values[name]),
  );

  const args = ["-e", "stderr", "-p", folder, "-c", path];
  // It writes the file when it listens.
  const nginx = await startProgram("nginx", program, args, () => isThere(join(folder, "nginx.pid")));
  return { stop: () => nginx.stop("SIGQUIT") };
}
