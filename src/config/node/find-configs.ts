import { access } from "node:fs/promises";
import { homedir } from "node:os";
import { resolve } from "node:path";
import { type Machine, type WellKnownConfig, wellKnownConfigs } from "../well-known.ts";

/**
 * The configuration files of all known programs that exist here, from the general
 * to the particular, so that `loadConfig` can be given them as they come. What is
 * not given is that of this process.
 *
 * Files of a project may have been written by somebody else. Ask before their
 * servers are started.
 */
export async function findConfigs(machine: Partial<Machine> = {}): Promise<readonly WellKnownConfig[]> {
  const { cwd = process.cwd(), home = homedir(), platform = process.platform, env = process.env } = machine;
  const known = wellKnownConfigs({ cwd, home, platform, env });
  const paths = new Set<string>();
  const found: WellKnownConfig[] = [];
  for (const config of known) {
    const path = resolve(config.path);
    if (paths.has(path) || !(await exists(path))) continue;
    paths.add(path);
    found.push({ ...config, path });
  }
  return found;
}

async function exists(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch {
    return false;
  }
}
