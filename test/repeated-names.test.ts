import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "./e2e/support/places.ts";

// One word, one concept: a name that is exported has one declaration. Names that had several when this was written are listed
// here. A new one needs another word, unless both are the same thing for two platforms or behind a seam.

/** The same thing for several platforms, or a seam and what is behind it. */
const sameThing = words(`
  SseHandlerOptions clientCredentials command connect createSessionHandler createSseHandler
  createStatelessHandler enterpriseManaged introspection jwt jwtBearer oauth oauthProxy openHost openStore
  serveChannel tokenExchange
`);

/** Different things. Whoever renames one takes its name out. */
const different = words(`
  Account ApprovalRequest Attempt Budget Change Choice Command Credentials Definitions Dialect Draft Ending
  Failure FairGate Found Grant Handlers Held HttpOptions HttpSession HttpWarning Job Keys ListKind Listener
  Locate Member Message OutgoingRequest Part Platform Progress Questions Reach Reference RegisteredClient
  ResolvedTarget Resource Route Routes Send Sender Sending Session SessionHooks Share Step Ticket Told
  ToolCall ToolCaller ToolCalls ToolFilter TopicMessage Typed UrlTarget Variable Watch accepts createEndpoint
  createFairGate createFollower createHold createKeys createOAuth createToolCalls describe digestOf
  endSession errorText failureOf guarded hidden isJsonType isUnavailable legacyClient limitsOf listen nameOf notFound
  oneLine openQuestions optionsOf placeKey quote quoted readBody readHeaders readScopes readSurface
  recordChannel redact refuse serverBudgets sessionOf silent statusOf step styleOf textOf toClient toMatcher
  tooLarge tooLong unavailable unknownPrompt unknownTask unknownTool unsupported within
`);

describe("exported names", () => {
  const declared = filesByName();
  const repeated = [...declared].filter(([, files]) => files.length > 1).map(([name]) => name);

  it("are found", () => {
    expect(declared.size).toBeGreaterThan(2_000);
    expect(declared.get("openHost")).toEqual(["host/node/open-host.ts", "host/web.ts"]);
  });

  it("are declared in one file, but for those that are listed", () => {
    const unlisted = repeated.filter((name) => !sameThing.includes(name) && !different.includes(name));
    expect(unlisted.map((name) => `${name}: ${declared.get(name)?.join(", ")}`)).toEqual([]);
  });
});

function words(text: string): readonly string[] {
  return text.trim().split(/\s+/);
}

/** The files of `src` that declare each exported name. */
function filesByName(): ReadonlyMap<string, readonly string[]> {
  const declaration =
    /^export (?:declare )?(?:async )?(?:abstract )?(?:function\*?|class|interface|type|const|let|enum) (\w+)/gm;
  const files = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
    .map((file) => file.replaceAll("\\", "/"))
    .filter((file) => file.endsWith(".ts") && !/\.test(-d)?\.ts$/.test(file))
    .toSorted();
  const found = new Map<string, string[]>();
  for (const file of files) {
    const text = readFileSync(join(root, "src", file), "utf8");
    // Overloads of a function are one declaration.
    for (const name of new Set([...text.matchAll(declaration)].map(([, name = ""]) => name))) {
      found.set(name, [...(found.get(name) ?? []), file]);
    }
  }
  return found;
}
