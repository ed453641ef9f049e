/** What the kit takes on its command line. `list`: the option may be repeated. */
const options = {
  header: { value: "'Name: value'", list: true, about: "header of the first principal, the attacker" },
  "second-header": { value: "'Name: value'", list: true, about: "header of the second principal, the victim" },
  "weak-header": { value: "'Name: value'", list: true, about: "header of the first principal with fewer scopes" },
  "second-url": { value: "URL", about: "another server that has the same keys, to which states are carried" },
  use: { value: "ROLE=TOOL[:JSON]", list: true, about: "a tool that may be called, and its arguments; see below" },
  only: { value: "LIST", list: true, about: "attacks, groups or ids to run, separated by commas" },
  skip: { value: "LIST", list: true, about: "attacks, groups or ids to leave out" },
  pid: { value: "PID", list: true, about: "process of the server, whose memory is measured" },
  "max-growth": { value: "MB", about: "memory that an attack may cost the server, by default 100" },
  from: { value: "ADDRESS", about: "local address of the second principal, by default 127.0.0.2 on Linux" },
  remote: { about: "allows a server that is not on this machine: only with the consent of who runs it" },
  json: { about: "prints one JSON document" },
  list: { about: "lists the attacks and ends" },
  help: { about: "prints this text" },
};

/** The roles that a tool can have, and what the kit expects of it. */
export const roles = {
  echo: "returns its string argument; by default a read-only tool with one required string, or none",
  large: "returns a large result, and reports progress if asked for it",
  slow: "takes about a second",
  ask: "asks the user for something; its result may tell `effects` and `runs`, how often its step and its handler ran",
  task: "runs as a task that waits for an answer",
  "scoped-task": "the same, and needs a scope that the caller of --weak-header lacks",
};

/** Reads the command line. Throws `Error` with a sentence for the user. */
export function readArguments(words) {
  const read = { options: {}, url: undefined, command: [] };
  for (let at = 0; at < words.length; at++) {
    const word = words[at];
    if (word === "--") return checked({ ...read, command: words.slice(at + 1) });
    if (word.startsWith("--")) at += take(read.options, word.slice(2), words[at + 1]);
    else if (read.url === undefined && /^https?:\/\//.test(word)) read.url = word;
    else return checked({ ...read, command: words.slice(at) });
  }
  return checked(read);
}

/** Notes an option, and says how many words its value took. */
function take(into, word, next) {
  const [name, ...rest] = word.split("=");
  const option = Object.hasOwn(options, name) ? options[name] : undefined;
  if (option === undefined) throw new Error(`unknown option --${name}; see --help`);
  if (option.value === undefined) {
    into[name] = true;
    return 0;
  }
  const isInline = rest.length > 0;
  const value = isInline ? rest.join("=") : next;
  if (value === undefined) throw new Error(`--${name} needs a value: ${option.value}`);
  into[name] = option.list ? [...(into[name] ?? []), value] : value;
  return isInline ? 0 : 1;
}

function checked({ options: given, url, command }) {
  const maxGrowth = Number(given["max-growth"] ?? 100);
  if (!(maxGrowth > 0)) throw new Error("--max-growth must be a number of megabytes");
  const pids = (given.pid ?? []).flatMap((pid) => pid.split(",")).map(Number);
  if (pids.some((pid) => !Number.isInteger(pid) || pid < 2)) throw new Error("--pid must be the number of a process");
  return {
    url,
    command,
    headers: headersOf(given.header),
    secondHeaders: given["second-header"] && headersOf(given["second-header"]),
    weakHeaders: given["weak-header"] && headersOf(given["weak-header"]),
    secondUrl: given["second-url"],
    uses: usesOf(given.use ?? []),
    only: wordsOf(given.only),
    skip: wordsOf(given.skip),
    pids,
    maxGrowth,
    from: given.from,
    remote: given.remote === true,
    json: given.json === true,
    list: given.list === true,
    help: given.help === true,
  };
}

function headersOf(lines = []) {
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf(":");
      if (at < 1) throw new Error(`header ${JSON.stringify(line)} must be like 'Name: value'`);
      return [line.slice(0, at).trim().toLowerCase(), line.slice(at + 1).trim()];
    }),
  );
}

function usesOf(texts) {
  return Object.fromEntries(
    texts.map((text) => {
      const [, role = "", name, json = "{}"] = /^([\w-]+)=([^:]+)(?::(.*))?$/s.exec(text) ?? [];
      if (!Object.hasOwn(roles, role)) {
        throw new Error(
          `--use ${text} must be ROLE=TOOL or ROLE=TOOL:JSON; roles are ${Object.keys(roles).join(", ")}`,
        );
      }
      return [role, { name, args: JSON.parse(json) }];
    }),
  );
}

function wordsOf(texts = []) {
  return texts.flatMap((text) => text.split(",")).map((word) => word.trim().toLowerCase());
}

export function usage() {
  const rows = Object.entries(options).map(([name, { value, about }]) => [`--${name} ${value ?? ""}`.trim(), about]);
  const width = Math.max(...rows.map(([left]) => left.length));
  const table = (entries) => entries.map(([left, about]) => `  ${left.padEnd(width)}  ${about}`).join("\n");
  return `usage: npm run attack -- [options] URL [-- COMMAND ...]   an HTTP server; the command starts it
       npm run attack -- [options] COMMAND ...            a stdio server

Tries known attacks on a server that you name and that you may test. Exit code 0: all held; 1: one got through; 2: could not run.

${table(rows)}

Roles of tools, for --use. No other tool is ever called:
${table(Object.entries(roles))}
`;
}
