import { mkdir, readdir, writeFile } from "node:fs/promises";
import { basename, join, relative, resolve } from "node:path";
import { ownInfo } from "../../protocol/own-info.ts";
import { type Command, defineCommand } from "../command.ts";
import { canImport, installPackages } from "../project/install-packages.ts";
import { projectFiles } from "../project/project-files.ts";
import { UsageError } from "../usage-error.ts";

export const command: Command = defineCommand({
  name: "init",
  usage: ["[folder]"],
  description:
    "Makes a project with a server, a program that serves it on stdio, and tests. The folder must be new or empty; default is\n" +
    "this one. Packages are installed with npm; where that fails, for example without a network, the project gets a link to\n" +
    "the package that runs now, so that it works at once. npm create plugbay does the same.",
  maxArguments: 1,
  options: {
    typescript: { type: "flag", meaning: "write TypeScript, without a build step; needs Node 22.18, or tsx" },
    "no-install": { type: "flag", meaning: "write the files only" },
    plugbay: {
      type: "text",
      value: "version",
      meaning: "what package.json says of plugbay, such as file:../plugbay.tgz",
    },
  },
  examples: [
    { line: "plugbay init demo && cd demo && npm test && npm start", does: "a server that runs" },
    { line: "plugbay init demo --typescript", does: "the same in TypeScript" },
    { line: "plugbay init . --no-install --json", does: "files in this folder, for a program" },
  ],
  async run(context) {
    const { args, cwd, options } = context;
    const folder = resolve(cwd, args[0] ?? ".");
    const name = packageName(basename(folder));
    await makeEmptyFolder(folder);
    const needsTsx = !("typescript" in process.features && typeof process.features.typescript === "string");
    const language = options.typescript ? "typescript" : "javascript";
    const files = projectFiles({ name, language, needsTsx, plugbay: options.plugbay ?? `^${ownInfo.version}` });
    for (const [path, text] of Object.entries(files)) await writeFile(join(folder, path), text, { flag: "wx" });
    const packages = options["no-install"] ? "none" : await installPackages(folder, context);
    const missing = packages === "linked" && options.typescript && needsTsx && !canImport(folder, "tsx");
    context.print({ folder, name, files: Object.keys(files), packages }, () => {
      const there = relative(cwd, folder);
      const steps = [...(there === "" ? [] : [`cd ${there}`]), ...(packages === "none" ? ["npm install"] : [])];
      return `made ${name} in ${folder}\n  ${[...steps, "npm test", "npm start"].join(" && ")}`;
    });
    if (packages === "linked" && !context.json) {
      context.say("npm could not install packages: plugbay is a link to the one that runs now; run npm install later");
      if (missing) context.say("this Node needs tsx for TypeScript, and it is not there: run npm install first");
    }
    return undefined;
  },
});

/** What npm takes as the name of a package. */
function packageName(folder: string): string {
  const name = folder
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, "-")
    .replace(/^[._-]+|[._-]+$/g, "");
  return name === "" ? "server" : name.slice(0, 100);
}

/** Makes a folder, or takes one that has nothing in it but what is hidden, such as `.git`. */
async function makeEmptyFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const [found] = (await readdir(folder)).filter((name) => !name.startsWith("."));
  if (found === undefined) return;
  throw new UsageError(
    `${folder} is not empty: it has ${JSON.stringify(found)}`,
    "name a new folder: plugbay init demo",
  );
}
