import { type SpawnOptions, spawn } from "node:child_process";

/** Starts a program. Resolves to whether it started and did not fail at once. */
export type Start = (command: string, args: readonly string[]) => Promise<boolean>;

export interface BrowserOptions {
  readonly platform?: NodeJS.Platform;
  readonly start?: Start;
}

/**
 * Opens a URL in the browser of the user. No shell sees it: it is one argument
 * of a program. Resolves to false when there is no way to do so.
 */
export async function openBrowser(url: URL, options: BrowserOptions = {}): Promise<boolean> {
  const { platform = process.platform, start = startProgram } = options;
  // Anything else might be a program, or a file, to whatever opens it.
  if (url.protocol !== "https:" && url.protocol !== "http:") return false;
  const [command, ...args] = openers[platform] ?? ["xdg-open"];
  return command !== undefined && start(command, [...args, url.href]);
}

const openers: Readonly<Partial<Record<NodeJS.Platform, readonly string[]>>> = {
  darwin: ["open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};

const options: SpawnOptions = { shell: false, detached: true, stdio: "ignore", windowsHide: true };

const startProgram: Start = (command, args) =>
  new Promise((resolve) => {
    const child = spawn(command, [...args], options);
    child.on("error", () => resolve(false));
    // Some openers are the browser themselves, and stay.
    child.on("spawn", () => {
      const settled = setTimeout(resolve, 1_000, true);
      child.on("exit", (code) => {
        clearTimeout(settled);
        resolve(code === 0);
      });
    });
    child.unref();
  });
