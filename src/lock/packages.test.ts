import { describe, expect, it } from "vitest";
import { packagesOf } from "./launch.ts";

const sha = "a".repeat(64);
const commit = "0123456789abcdef0123456789abcdef01234567";

describe("packagesOf", () => {
  it.each<[line: string, pinned: readonly string[], unpinned: readonly string[]]>([
    ["npx -y @scope/server@1.2.3 --root /srv", ["@scope/server@1.2.3"], []],
    ["npx server", [], ["server"]],
    ["npx -y server@latest", [], ["server@latest"]],
    ["npx server@1 server@1.2.3", [], ["server@1"]],
    ["npx server@^1.2.3", [], ["server@^1.2.3"]],
    ["npx -p one@1.0.0 --package=two cmd", ["one@1.0.0"], ["two"]],
    ["npx --registry https://r.example server@1.0.0-rc.1", ["server@1.0.0-rc.1"], []],
    [`npx github:me/server#${commit}`, [`github:me/server#${commit}`], []],
    ["npx github:me/server", [], ["github:me/server"]],
    ["npx -c server", [], []],
    ["/usr/local/bin/npx server@1.0.0", ["server@1.0.0"], []],
    ["C:\\nodejs\\npx.cmd server@1.0.0", ["server@1.0.0"], []],
    ["cmd /c npx -y server", [], ["server"]],
    ["npm exec --yes -- server@1.0.0", ["server@1.0.0"], []],
    ["npm --yes exec server", [], ["server"]],
    ["npm x server", [], ["server"]],
    ["npm run start", [], []],
    ["pnpm dlx server@1.0.0", ["server@1.0.0"], []],
    ["pnpm --package=server dlx cmd", [], ["server"]],
    ["yarn dlx -p server@1.0.0 cmd", ["server@1.0.0"], []],
    ["bunx --bun server", [], ["server"]],
    ["bun x server@1.0.0", ["server@1.0.0"], []],
    ["bun run index.ts", [], []],
    ["uvx server==1.2", ["server==1.2"], []],
    ["uvx server@1.2.3", ["server@1.2.3"], []],
    ["uvx server@latest", [], ["server@latest"]],
    ["uvx --python 3.12 server", [], ["server"]],
    ["uvx -q --from server[cli]==1.0 --with other serve", ["server[cli]==1.0"], ["other"]],
    ["uvx server>=1.0", [], ["server>=1.0"]],
    [`uvx --from git+https://u:pw@h.example/s@${commit} s`, [`git+https://***@h.example/s@${commit}`], []],
    ["uv tool run server", [], ["server"]],
    ["uv run server.py", [], []],
    ["pipx run server==1.0.post1", ["server==1.0.post1"], []],
    ["pipx run --spec server app", [], ["server"]],
    ["docker run -i --rm -e KEY -v /srv:/srv mcp/server:1.0 --flag", [], ["mcp/server:1.0"]],
    ["docker run -it --name=x -p8080:80 mcp/server", [], ["mcp/server"]],
    [`docker run -i mcp/server@sha256:${sha}`, [`mcp/server@sha256:${sha}`], []],
    ["podman container run --rm mcp/server", [], ["mcp/server"]],
    ["docker exec box server", [], []],
    ["node server.js", [], []],
  ])("%s", (line, pinned, unpinned) => {
    const [command = "", ...args] = line.split(" ");
    const found = packagesOf(command, args);
    expect(found.filter(({ isPinned }) => isPinned).map(({ spec }) => spec)).toEqual(pinned);
    expect(found.filter(({ isPinned }) => !isPinned).map(({ spec }) => spec)).toEqual(unpinned);
  });
});
