import type { ChildEnv } from "../command.ts";
export interface EnvSource {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
}

/**
 * The environment of a child: the safe part of ours, then what was configured.
 *
 * Our tokens and keys are not for every server we start, so anything that is
 * not on the list has to be named. Exported shell functions are never passed on.
 */
export function childEnv({ env = {}, inheritEnv = [] }: ChildEnv, source: EnvSource = process): Record<string, string> {
  const foldsCase = source.platform === "win32";
  const sameName = (name: string): string => (foldsCase ? name.toUpperCase() : name);
  const configured = new Set(Object.keys(env).map(sameName));
  const names = [...(foldsCase ? safeOnWindows : safeOnPosix), ...inheritEnv];

  const inherited = names.flatMap((name): [string, string][] => {
    const value = source.env[name];
    if (value === undefined || value.startsWith("()") || configured.has(sameName(name))) return [];
    return [[name, value]];
  });
  return { ...Object.fromEntries(inherited), ...env };
}

const safeOnPosix = ["HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"];

const safeOnWindows = [
  "APPDATA",
  "HOMEDRIVE",
  "HOMEPATH",
  "LOCALAPPDATA",
  "PATH",
  "PATHEXT",
  "PROCESSOR_ARCHITECTURE",
  "PROGRAMFILES",
  "SYSTEMDRIVE",
  "SYSTEMROOT",
  "TEMP",
  "TMP",
  "USERNAME",
  "USERPROFILE",
];
