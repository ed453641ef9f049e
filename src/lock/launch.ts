import { asJson } from "../json/json.ts";
import { defined } from "../std/defined.ts";
import { maskText } from "../std/secrets.ts";
import {
  digestOf,
  type LockedPackage,
  type LockedProgram,
  type LockedTarget,
  type ServerProgram,
  type ServerSurface,
} from "./lock.ts";

/**
 * A public description of a target. Values of arguments and variables are left out; of a URL, the origin and path are
 * kept, and a part of the path that looks like a key is hidden. Undefined when nothing is left.
 */
export async function lockedTarget(target: ServerSurface["target"]): Promise<LockedTarget | undefined> {
  if (target === undefined) return undefined;
  if ("command" in target) return lockedProgram(target);
  if (!URL.canParse(target.url)) return undefined;
  const { protocol, host, pathname } = new URL(target.url);
  return { url: `${protocol}//${host}${pathname.split("/").map(withoutKey).join("/")}` };
}

async function lockedProgram(program: ServerProgram): Promise<LockedProgram> {
  const { command, args = [], cwd, env = {}, inheritEnv = [], path = wordOf(command), file = path } = program;
  const names = [...new Set([...Object.keys(env), ...inheritEnv])].sort();
  const choosing = Object.fromEntries(Object.entries(env).filter(([name]) => isChoosing(name)));
  const packages = packagesOf(command, args);
  return defined({
    command: maskText(path),
    file: file === path ? undefined : maskText(file),
    args: args.length === 0 ? undefined : await digestOf(asJson(args)),
    cwd: cwd && maskText(cwd),
    env: names,
    packages: packages.length === 0 ? undefined : packages,
    fingerprint: await digestOf(asJson({ command, path, file, args, cwd: cwd ?? null, env: names, choosing })),
  });
}

/** What follows a space may be an argument, unless the whole is the path of a program of Windows. */
function wordOf(command: string): string {
  const isPath = /^[a-z]:\\[^"]*\.(?:exe|cmd|bat|com)$/i.test(command) && !/ [-/]/.test(command);
  return isPath ? command : (command.trim().split(/\s/)[0] ?? "");
}

/** What differs between two programs, each a sentence without a subject. Empty when they are the same. */
export function programChanges(before: LockedProgram, now: LockedProgram): readonly string[] {
  if (before.fingerprint === now.fingerprint) return [];
  const more = now.env.filter((name) => !before.env.includes(name));
  const gone = before.env.filter((name) => !now.env.includes(name));
  const changes = [
    ...changed("starts", pathText(before), pathText(now)),
    ...(before.args === now.args ? [] : ["has other arguments"]),
    ...changed("is started in", before.cwd, now.cwd),
    ...(more.length === 0 ? [] : [`has the variables ${more.join(", ")}, which were not approved`]),
    ...(gone.length === 0 ? [] : [`lacks the variables ${gone.join(", ")}`]),
  ];
  if (changes.length > 0) return changes;
  const choosing = now.env.filter(isChoosing);
  return [
    choosing.length === 0 ? "has its command written in another way" : `has other values of ${choosing.join(", ")}`,
  ];
}

function changed(verb: string, before: string | undefined, now: string | undefined): readonly string[] {
  return before === now
    ? []
    : [`${verb} ${now ?? "nowhere in particular"} instead of ${before ?? "nowhere in particular"}`];
}

function pathText({ command, file }: LockedProgram): string {
  return file === undefined ? command : `${command} -> ${file}`;
}

/** Whether a variable decides which code runs. The values of others may change: they are keys and settings. */
function isChoosing(name: string): boolean {
  return choosingName.test(name);
}

const choosingName =
  /^(?:PATH|PATHEXT|COMSPEC|SHELL|ENV|BASH_ENV|NODE_(?:OPTIONS|PATH)|(?:LD|DYLD)_\w+|PYTHON\w+|PERL5?\w*|RUBY\w+|GEM_\w+|\w*JAVA\w*_OPTIONS|CLASSPATH|(?:npm|pnpm|yarn|bun)_config_\w+|UV_\w*INDEX\w*|PIP_\w*INDEX\w*|DOCKER_(?:HOST|CONTEXT|CONFIG))$/i;

/** Letters mixed with digits without a break for long, many digits, or a UUID. */
const key = /(?=[a-z]*\d)(?=\d*[a-z])[a-z\d]{12,}|\d{12,}|[\da-f]{8}-[\da-f]{4}-/i;

function withoutKey(segment: string): string {
  return key.test(segment) ? "***" : segment;
}

/**
 * The packages and images that a command fetches before it runs them, where it
 * is a runner such as `npx`, `uvx` or `docker run`. Empty for other programs.
 */
export function packagesOf(command: string, args: readonly string[] = []): readonly LockedPackage[] {
  const name = nameOf(command);
  // Windows starts batch files by its shell: `cmd /c npx …`.
  if (name === "cmd" && /^\/c$/i.test(args[0] ?? "")) return packagesOf(args[1] ?? "", args.slice(2));
  const runner = runners.find(({ words }) => isCalled(words, name, args));
  if (runner === undefined) return [];
  const { words, options, specs, isPinned } = runner;
  const rest = words.slice(1).reduce((left, word) => left.toSpliced(left.indexOf(word), 1), args);
  return specs(readArgs(rest, options)).map((spec) => ({ spec: shown(spec), isPinned: isPinned.test(spec) }));
}

/** Digests and commits are kept, although they look like secrets. */
function shown(spec: string): string {
  const [, start = spec, digest = ""] = /^(.*?)((?:@sha256:|[@#])[\da-f]{40,64})?$/is.exec(spec) ?? [];
  return maskText(start) + digest;
}

/** The name of a program, without its folder and the extension of Windows. */
function nameOf(command: string): string {
  const file = command.split(/[\\/]/).at(-1) ?? "";
  return file.toLowerCase().replace(/\.(?:exe|cmd|bat|com)$/, "");
}

/** `npm exec` may be written as `npm --yes exec`, so the subcommand is searched behind options. */
function isCalled([program, ...words]: readonly string[], name: string, args: readonly string[]): boolean {
  if (program !== name) return false;
  const plain = args.filter((arg) => !arg.startsWith("-"));
  return words.every((word, index) => plain[index] === word);
}

interface Runner {
  /** The program, and the words that make it a runner. */
  readonly words: readonly string[];
  readonly options: OptionRules;
  /** What it fetches. */
  specs(args: ReadArgs): readonly string[];
  /** Matches versions that always install the same package or image. */
  readonly isPinned: RegExp;
}

/** Which options of a runner stand alone, or else take the next argument. */
type OptionRules = { readonly flags: RegExp } | { readonly valued: RegExp };

interface ReadArgs {
  readonly options: readonly (readonly [name: string, value: string])[];
  /** The first argument that is not an option. */
  readonly first: string | undefined;
}

function readArgs(args: readonly string[], rules: OptionRules): ReadArgs {
  const options: [string, string][] = [];
  for (let index = 0; index < args.length; index++) {
    const arg = args[index] ?? "";
    if (arg === "--") return { options, first: args[index + 1] };
    if (!arg.startsWith("-")) return { options, first: arg };
    const [, name = arg, value] = /^(--?[^=]+)=(.*)$/s.exec(arg) ?? [];
    if (value !== undefined) options.push([name, value]);
    else if ("flags" in rules ? !rules.flags.test(arg) : rules.valued.test(arg))
      options.push([arg, args[++index] ?? ""]);
  }
  return { options, first: undefined };
}

/** Those of the options with one of these names; else, or besides, the first argument. */
function named({ options }: ReadArgs, ...names: readonly string[]): readonly string[] {
  return options.filter(([name]) => names.includes(name)).map(([, value]) => value);
}

function orFirst(specs: readonly string[], { first }: ReadArgs): readonly string[] {
  return specs.length > 0 || first === undefined ? specs : [first];
}

/** An exact version, or a commit. */
const npmPinned =
  /^(?:(?:@[^@/\s]+\/)?[^@/\s]+@(?:npm:(?:@[^@/\s]+\/)?[^@/\s]+@)?v?\d+\.\d+\.\d+(?:[-+][\w.+-]+)?|.+#[\da-f]{40})$/i;
const pythonPinned =
  /^(?:[\w.-]+(?:\[[\w.,\s-]*\])?\s*(?:===?|@)\s*v?\d+(?:\.\d+)*(?:[-_.]?(?:a|b|c|rc|alpha|beta|pre|post|dev)\d*)*(?:\+[\w.]+)?|.*git\+.+@[\da-f]{40}(?:#.*)?)$/i;
/** A tag can be moved to another image, a digest cannot. */
const imagePinned = /@sha256:[\da-f]{64}$/i;

const npmLike = (...words: readonly string[]): Runner => ({
  words,
  options: {
    valued: /^(?:-p|-c|-w|--(?:package|call|workspace|registry|prefix|cache|userconfig|node-options|shell))$/,
  },
  specs: (args) => orFirst(named(args, "-p", "--package"), named(args, "-c", "--call").length > 0 ? none : args),
  isPinned: npmPinned,
});

const none: ReadArgs = { options: [], first: undefined };

const uvLike = (...words: readonly string[]): Runner => ({
  words,
  options: {
    flags:
      /^(?:-[qvnU]+|--(?:isolated|no-\w[\w-]*|offline|quiet|verbose|upgrade|reinstall|refresh|native-tls|managed-python|system-certs|compile-bytecode|lfs))$/,
  },
  specs: (args) => [...orFirst(named(args, "--from"), args), ...named(args, "--with", "-w")],
  isPinned: pythonPinned,
});

const pipx: Runner = {
  words: ["pipx", "run"],
  options: { valued: /^--(?:spec|python|pip-args|index-url|with|fetch-python)$/ },
  specs: (args) => [...orFirst(named(args, "--spec"), args), ...named(args, "--with")],
  isPinned: pythonPinned,
};

const imageLike = (...words: readonly string[]): Runner => ({
  words,
  options: {
    flags:
      /^(?:-[itdPq]+|-[^itdPq-].+|--(?:rm|interactive|tty|detach|init|privileged|publish-all|read-only|quiet|no-healthcheck|oom-kill-disable|sig-proxy))$/,
  },
  specs: (args) => orFirst([], args),
  isPinned: imagePinned,
});

const runners: readonly Runner[] = [
  ...[["npx"], ["npm", "exec"], ["npm", "x"], ["pnpx"], ["pnpm", "dlx"], ["yarn", "dlx"], ["bunx"], ["bun", "x"]].map(
    (words) => npmLike(...words),
  ),
  uvLike("uvx"),
  uvLike("uv", "tool", "run"),
  pipx,
  ...["docker", "podman", "nerdctl"].flatMap((name) => [imageLike(name, "run"), imageLike(name, "container", "run")]),
];
