import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { basename, dirname, join } from "node:path";

/** A registry of npm in this process, for installs without a network. */
export interface Registry extends AsyncDisposable {
  readonly url: string;
  /** The packages that were fetched. */
  readonly fetched: ReadonlySet<string>;
}

/** Serves the packages that are installed in these folders, each in its one version. The first folder that has a package wins. */
export async function serveRegistry(folders: readonly string[]): Promise<Registry> {
  const fetched = new Set<string>();
  const folderOf = (name: string): string | undefined =>
    folders.map((folder) => join(folder, name)).find((folder) => existsSync(join(folder, "package.json")));
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://registry");
    const [, tarball] = /^\/-\/tarball\/(.+)$/.exec(pathname) ?? [];
    const name = decodeURIComponent(tarball ?? pathname.slice(1));
    const folder = folderOf(name);
    if (folder === undefined) return response.writeHead(404, { "content-type": "application/json" }).end("{}");
    if (tarball === undefined) {
      const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
      const dist = { tarball: `http://${request.headers.host}/-/tarball/${encodeURIComponent(name)}` };
      const versions = { [manifest.version]: { ...manifest, dist } };
      const document = { name, "dist-tags": { latest: manifest.version }, versions };
      return response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(document));
    }
    fetched.add(name);
    response.writeHead(200, { "content-type": "application/octet-stream" });
    const packed = ["-czhf", "-", "--exclude", "node_modules", "-C", dirname(folder), basename(folder)];
    return spawn("tar", packed, { stdio: ["ignore", "pipe", "inherit"] }).stdout.pipe(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    fetched,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
