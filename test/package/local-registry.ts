import { execFile } from "node:child_process";
import { createReadStream, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** A registry of npm packages on loopback, for as long as it is not disposed of. */
export interface LocalRegistry extends AsyncDisposable {
  readonly url: string;
}

/**
 * Serves the packages that are installed in this repository as a registry, each in its one version.
 * `packages` has others by name: the path of a tarball, or the name under which the package is installed.
 */
export async function serveRegistry(packages: Readonly<Record<string, string>>): Promise<LocalRegistry> {
  const folder = mkdtempSync(join(tmpdir(), "plugbay-registry-"));
  const tarballs = new Map<string, Promise<string>>();
  const find = (name: string) => packages[name] ?? name;
  const tarballOf = (source: string) => {
    const made = tarballs.get(source) ?? (source.endsWith(".tgz") ? Promise.resolve(source) : pack(source, folder));
    tarballs.set(source, made);
    return made;
  };

  const server = createServer(async (request, response) => {
    const [, name = "", isTarball] = /^\/((?:@[^/]+\/)?[^/]+)(\/-)?$/.exec(decodeURIComponent(request.url ?? "")) ?? [];
    const source = find(name);
    const exists = source.endsWith(".tgz") || existsSync(join("node_modules", source, "package.json"));
    if (request.method !== "GET" || name === "" || !exists) return response.writeHead(404).end("{}");
    if (isTarball !== undefined) return createReadStream(await tarballOf(source)).pipe(response);
    const manifest = JSON.parse(await manifestOf(source));
    const dist = { tarball: `${url}${name}/-` };
    const versions = { [manifest.version]: { ...manifest, dist } };
    response.setHeader("content-type", "application/json");
    return response.end(JSON.stringify({ name, "dist-tags": { latest: manifest.version }, versions }));
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return {
    url,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Makes the tarball of an installed package, without the packages that are installed within it. */
async function pack(source: string, folder: string): Promise<string> {
  const tarball = join(folder, `${source.replace("/", "-")}.tgz`);
  const place = resolve("node_modules", source);
  const name = basename(place);
  await run("tar", ["-czf", tarball, "--exclude", `${name}/node_modules`, "-C", join(place, ".."), name]);
  return tarball;
}

/** The package.json of a tarball, or of an installed package. */
async function manifestOf(source: string): Promise<string> {
  if (!source.endsWith(".tgz")) return readFileSync(join("node_modules", source, "package.json"), "utf8");
  const { stdout } = await run("tar", ["-xzOf", source, "package/package.json"]);
  return stdout;
}
