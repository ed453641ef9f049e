import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { find } from "../../scripts/system-programs.mjs";

/** A Secret Service of one test, as desktops have it, on a bus of its own. It starts when it is first asked. */
export interface TestKeychain extends AsyncDisposable {
  /** Where tokens may be kept. */
  readonly folder: string;
  /** What makes a process use this one. */
  readonly env: Readonly<Record<string, string>>;
  /** Locks what is in it, as when the user is away. */
  lock(): Promise<void>;
}

const run = promisify(execFile);
const secrets = ["--dest=org.freedesktop.secrets", "/org/freedesktop/secrets"];
const [bus, daemon] = [find("dbus"), find("keyring")];

/** Whether what it takes is installed. */
export const hasKeychain: boolean = process.platform === "linux" && bus !== undefined && daemon !== undefined;

/** `new`: nobody has ever logged in to unlock it. `none`: there is a bus, and nothing on it. */
export type KeychainState = "unlocked" | "new" | "none";

export async function startKeychain(state: KeychainState = "unlocked"): Promise<TestKeychain> {
  const home = mkdtempSync(join(tmpdir(), "plugbay-keyring-"));
  const services = join(home, "services");
  mkdirSync(services);
  chmodSync(home, 0o700);
  writeFileSync(join(home, "bus.conf"), busConfig(home, services));
  if (state !== "none") {
    writeFileSync(join(home, "password"), "a-password");
    writeFileSync(join(home, "start.sh"), startScript(state, home));
    const service = `[D-BUS Service]\nName=org.freedesktop.secrets\nExec=/bin/sh ${join(home, "start.sh")}\n`;
    writeFileSync(join(services, "org.freedesktop.secrets.service"), service);
  }
  const env = { PATH: process.env.PATH ?? "", HOME: home, XDG_RUNTIME_DIR: home, XDG_DATA_HOME: join(home, "data") };
  const args = [`--config-file=${join(home, "bus.conf")}`, "--nofork", "--nopidfile", "--print-address=1"];
  const child = spawn(bus ?? "dbus-daemon", args, { env, stdio: ["ignore", "pipe", "ignore"] });
  const kill = (): void => void child.kill();
  process.once("exit", kill);
  const address = await firstLine(child);
  const inSession = { ...env, DBUS_SESSION_BUS_ADDRESS: address };
  return {
    folder: join(home, "tokens"),
    env: inSession,
    async lock() {
      const place = "array:objpath:/org/freedesktop/secrets/collection/login";
      await run("dbus-send", ["--print-reply", ...secrets, "org.freedesktop.Secret.Service.Lock", place], {
        env: inSession,
      });
    },
    async [Symbol.asyncDispose]() {
      endDaemon(join(home, "pid"));
      process.removeListener("exit", kill);
      const ended = once(child, "exit");
      child.kill();
      await ended;
      rmSync(home, { recursive: true, force: true });
    },
  };
}

/** A bus of the session that starts nothing but what is in the folder. */
function busConfig(home: string, services: string): string {
  return `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
  "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:dir=${home}</listen>
  <servicedir>${services}</servicedir>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
`;
}

/** The password that unlocks it comes on stdin, without a line break. */
function startScript(state: KeychainState, home: string): string {
  const unlock = state === "unlocked" ? `--unlock < ${join(home, "password")}` : "";
  return `echo $$ > ${join(home, "pid")}\nexec ${daemon} --foreground --components=secrets ${unlock} > /dev/null 2>&1\n`;
}

async function firstLine({ stdout }: ChildProcess): Promise<string> {
  if (stdout === null) throw new Error("the bus says nothing");
  for await (const line of createInterface({ input: stdout })) return line;
  throw new Error("the bus did not start");
}

function endDaemon(pidFile: string): void {
  try {
    process.kill(Number(readFileSync(pidFile, "utf8")));
  } catch {
    // It was never asked, or has ended with the bus.
  }
}

/** What another process answers that does this with tokens of its keychain. */
export async function inProcess(env: Readonly<Record<string, string>>, ...args: readonly string[]): Promise<unknown> {
  const script = fileURLToPath(new URL("keychain-child.ts", import.meta.url));
  const { stdout } = await run(process.execPath, ["--import", import.meta.resolve("tsx"), script, ...args], { env });
  return JSON.parse(stdout);
}
