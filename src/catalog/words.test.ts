import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { stemOf, wordsOf } from "./tool-index.ts";

const same = (word: string) => word;

describe("wordsOf", () => {
  it.each<[string, readonly string[]]>([
    ["create_issue", ["create", "issue"]],
    ["refund.payment-now", ["refund", "payment", "now"]],
    ["createIssue", ["create", "issue", "createissue"]],
    ["HTTPServer", ["http", "server", "httpserver"]],
    ["getURL", ["get", "url", "geturl"]],
    ["OAuth2Token", ["o", "auth2", "token", "oauth2token"]],
    ["base64", ["base64"]],
    ["API", ["api"]],
    ["Größe", ["große"]],
    ["ÉCOLE İstanbul", ["ecole", "istanbul"]],
    ["ＦＵＬＬ width", ["full", "width"]],
    ["ΑΒΓ Привет", ["αβγ", "привет"]],
    ["搜索文件", ["搜索", "索文", "文件"]],
    ["ファイルを検索", ["ファ", "ァイ", "イル", "ルを", "を検", "検索"]],
    ["한글 a", ["한글", "a"]],
    ["PDFを開く", ["を開", "開く", "pdf"]],
    ["字", ["字"]],
    ["हिन्दी", ["हिन्दी"]],
    ["  -- ", []],
    ["", []],
  ])("of %j", (text, words) => {
    expect(wordsOf(text, same)).toEqual(words);
  });

  it("are the same in upper and lower case, for one word", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-zäöüé]{1,12}$/u), (word) => {
        expect(wordsOf(word.toUpperCase())).toEqual(wordsOf(word));
      }),
    );
  });

  it("are never empty, whatever the text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) => {
        for (const word of wordsOf(text)) expect(word).not.toBe("");
      }),
    );
  });
});

describe("stemOf", () => {
  it.each([
    ["create", "creates", "creating", "created"],
    ["merge", "merges", "merging", "merged"],
    ["file", "files", "filing", "filed"],
    ["search", "searches", "searching", "searched"],
    ["stop", "stops", "stopping", "stopped"],
    ["query", "queries"],
    ["branch", "branches"],
    ["box", "boxes"],
    ["address", "addresses"],
  ])("is one for %s and its forms", (...forms) => {
    expect(new Set(forms.map(stemOf)).size).toBe(1);
  });

  it.each([
    ["string", "string"],
    ["feed", "feed"],
    ["bus", "bus"],
    ["status", "status"],
    ["class", "class"],
    ["analysis", "analysis"],
    ["id", "id"],
    ["größen", "größen"],
    ["base64s", "base64s"],
  ])("leaves %s alone", (word, stem) => {
    expect(stemOf(word)).toBe(stem);
  });
});
