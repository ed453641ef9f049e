import fc from "fast-check";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../json/json.ts";
import type { Tool } from "../protocol/tool.ts";
import { estimateTokens } from "./tokens.ts";

const verbs = ["create", "list", "get", "update", "delete", "search", "merge", "export", "schedule", "convert"];
const nouns = ["invoice", "repository", "calendarEvent", "user", "build_log", "webhook", "row", "image", "customer"];
const styles: readonly ((verb: string, noun: string) => string)[] = [
  (verb, noun) => `${verb}_${noun}`,
  (verb, noun) => `${verb}${noun[0]?.toUpperCase()}${noun.slice(1)}`,
  (verb, noun) => `${noun}.${verb}`,
  (verb, noun) => `crm-${verb}-${noun}`,
];
const english: readonly ((verb: string, noun: string) => string)[] = [
  (verb, noun) => `${verb} one ${noun} by its id.`,
  (verb, noun) =>
    `Use this to ${verb} a ${noun}. Returns the ${noun} as JSON, or an error when it does not exist (404).`,
  (verb, noun) =>
    `${verb.toUpperCase()} ${noun}s in bulk:\n\n- at most 1000 per call\n- rate limited to 30 requests/minute\n- e.g. \`{"ids": ["a1", "b2"]}\`\n\nIMPORTANT: ask the user before you ${verb} anything that cannot be restored.`,
];
const properties: readonly JsonObject[] = [
  { id: { type: "string", format: "uuid" } },
  { owner: { type: "string", description: "Who owns it" }, page: { type: "integer", minimum: 1, default: 1 } },
  {
    filter: { anyOf: [{ type: "string", pattern: "^[a-z]{2,8}$" }, { enum: ["open", "closed", "all"] }] },
    since: {
      type: "string",
      format: "date-time",
      description: "Only what changed after this, such as 2026-01-31T08:00:00Z",
    },
    labels: { type: "array", items: { type: "string" }, maxItems: 20 },
  },
  {
    address: {
      type: "object",
      properties: { street: { type: "string" }, postalCode: { type: "string" }, countryCode: { type: "string" } },
      required: ["street", "countryCode"],
      additionalProperties: false,
    },
  },
];
/** Own sentences, all about the same things. */
const abroad: readonly string[] = [
  "Sucht Dateien in einem Ordner und gibt die Namen aller passenden Einträge zurück. Große Ordner werden seitenweise gelesen.",
  "Recherche des fichiers dans un dossier et renvoie le nom de chaque entrée trouvée, même dans les dossiers cachés.",
  "Busca archivos en una carpeta y devuelve los nombres de las entradas que coinciden con el texto.",
  "Ищет файлы в папке и возвращает имена всех подходящих записей, если доступ разрешён.",
  "在文件夹中搜索文件，并返回所有匹配条目的名称。结果按修改时间排序。",
  "フォルダー内のファイルを検索し、一致する項目の名前を返します。",
  "폴더에서 파일을 검색하고 일치하는 모든 항목의 이름을 반환합니다.",
  "يبحث عن الملفات في مجلد ويعيد أسماء جميع العناصر المطابقة.",
  "फ़ोल्डर में फ़ाइलें खोजता है और सभी मेल खाने वाली प्रविष्टियों के नाम लौटाता है।",
  "🔎 Finds files 📁 fast 🚀 and tells you ✅ when it is done",
];

function pickFrom<T>(list: readonly T[], index: number): T {
  const item = list[index % list.length];
  if (item === undefined) throw new RangeError("nothing to pick from");
  return item;
}

function sample(index: number, describe: (verb: string, noun: string) => string): Tool {
  const [verb, noun] = [pickFrom(verbs, index), pickFrom(nouns, index * 7)];
  const members = pickFrom(properties, index * 3 + (index >> 2));
  return {
    name: pickFrom(styles, index)(verb, noun),
    description: describe(verb, noun),
    inputSchema: { type: "object", properties: members, required: Object.keys(members).slice(0, 1) },
  };
}

const inEnglish = Array.from({ length: 150 }, (_, index) => sample(index, pickFrom(english, index)));
const inOthers = Array.from({ length: 50 }, (_, index) => sample(index, () => pickFrom(abroad, index)));

/** The estimate by what the tokenizer counts. */
function ratioOf(tool: Tool): number {
  const { name, description, inputSchema } = tool;
  return estimateTokens(tool) / countTokens(JSON.stringify({ name, description, inputSchema }));
}

describe("estimateTokens of a tool", () => {
  it.each([
    ["in English", inEnglish],
    ["in other languages", inOthers],
  ])("is within 12 %% of what a real tokenizer counts, %s", (_, tools) => {
    for (const tool of tools) {
      expect(ratioOf(tool), tool.description).toBeGreaterThan(0.88);
      expect(ratioOf(tool), tool.description).toBeLessThan(1.12);
    }
  });

  it("is on average within 3 %", () => {
    const all = [...inEnglish, ...inOthers].map(ratioOf);
    expect(all).toHaveLength(200);
    expect(Math.abs(all.reduce((sum, ratio) => sum + ratio, 0) / all.length - 1)).toBeLessThan(0.03);
  });

  it("counts what a model is told, and nothing else", () => {
    const tool: Tool = { name: "buy", description: "Buys", inputSchema: { type: "object" } };
    const more: Tool = { ...tool, title: "Buy it", outputSchema: { type: "object" }, _meta: { a: "b".repeat(99) } };
    expect(estimateTokens(more)).toBe(estimateTokens(tool));
    expect(estimateTokens({ ...tool, description: "Buys and sells" })).toBeGreaterThan(estimateTokens(tool));
  });
});

describe("estimateTokens of a text", () => {
  it.each(abroad)("is within 25 %% of what a real tokenizer counts in %s", (text) => {
    expect(estimateTokens(text) / countTokens(text)).toBeGreaterThan(0.75);
    expect(estimateTokens(text) / countTokens(text)).toBeLessThan(1.25);
  });

  it("never shrinks when something is added, and is never negative", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.string({ unit: "grapheme" }), (a, b) => {
        expect(estimateTokens(a)).toBeGreaterThanOrEqual(0);
        expect(estimateTokens(a + b)).toBeGreaterThanOrEqual(estimateTokens(a));
      }),
    );
  });

  it("sees that long runs without a space are many tokens", () => {
    expect(estimateTokens("")).toBe(0);
    expect(estimateTokens("aGVsbG8gd29ybGQ".repeat(100))).toBeGreaterThan(300);
    expect(estimateTokens("abcdefghij".repeat(100))).toBeGreaterThan(200);
    expect(estimateTokens("1".repeat(300))).toBeGreaterThanOrEqual(100);
  });
});
