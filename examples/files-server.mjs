// A server that shows the files of a folder, and lets clients create new ones: names come from
// clients, and no name leads out of the folder.
import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { connect } from "plugbay/client";
import { safePath } from "plugbay/files";
import { createServer, resource, tool } from "plugbay/server";

const folder = await mkdtemp(join(tmpdir(), "notes-")); // in production: a folder that only the server can write
await writeFile(join(folder, "today.md"), "Buy milk");
await symlink("/etc", join(folder, "system")); // somebody's mistake

/** Nothing means that there is no such resource. */
const ifMissing = (error) => {
  if (error.code !== "ENOENT") throw error;
};

const notes = createServer({
  name: "notes",
  version: "1.0.0",
  resources: [
    resource("notes://{+path}", {
      mimeType: "text/markdown",
      read: async ({ path }) => readFile(await safePath(folder, path), "utf8").catch(ifMissing),
      list: async () => {
        const files = await readdir(folder, { recursive: true, withFileTypes: true });
        const names = files
          .filter((file) => file.isFile())
          .map((file) => relative(folder, join(file.parentPath ?? file.path, file.name)));
        return names.map((name) => ({ uri: `notes://${encodeURI(name)}`, name }));
      },
    }),
  ],
  tools: {
    write: tool({
      description: "Writes a new note",
      input: {
        type: "object",
        properties: { path: { type: "string" }, text: { type: "string" } },
        required: ["path", "text"],
      },
      run: async ({ path, text }) => {
        const file = await safePath(folder, path);
        await mkdir(dirname(file), { recursive: true });
        await writeFile(file, text, { flag: "wx" }); // never over something that is there
        return `wrote ${path}`;
      },
    }),
  },
});

const client = await connect(notes);
assert.equal(await client.tools.write({ path: "2026/plans.md", text: "Rest" }), "wrote 2026/plans.md");
assert.equal((await client.readResource("notes://2026/plans.md")).contents[0].text, "Rest");
assert.deepEqual((await client.listResources()).map(({ name }) => name).sort(), ["2026/plans.md", "today.md"]);
for (const path of ["../x", "/etc/passwd", "system/passwd", "..%2fx", "C:/x", "NUL"]) {
  await assert.rejects(client.callTool("write", { path, text: "" }), { code: "invalid-params" });
}
console.log("six names that lead elsewhere were refused");
await client.close();
await rm(folder, { recursive: true });
