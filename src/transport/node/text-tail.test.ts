import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createTextTail } from "./spawn.ts";

describe("createTextTail", () => {
  it.each<[text: string, kept: string]>([
    ["", ""],
    ["a\nb", "a\nb"],
    ["a\nb\nc\nd", "b\nc\nd"],
    ["a\nb\nc\nd\n", "b\nc\nd\n"],
    ["\n\n\n\n\n", "\n\n\n"],
    ["0123456789abc", "3456789abc"],
    ["xx😀12345678", "😀12345678"],
    ["xx😀123456789", "123456789"],
  ])("%j", (text, kept) => {
    const tail = createTextTail({ maxChars: 10, maxLines: 3 });
    tail.append(text);
    expect(tail.text()).toBe(kept);
  });

  it("hides what it is to hide also where the text is cut (S12)", () => {
    const secret = "s".repeat(100);
    for (let length = 0; length < 300; length += 7) {
      const tail = createTextTail({ maxChars: 150, maxLines: 3, mask: (text) => text.replaceAll(secret, "***") });
      for (let count = 0; count < 50; count++) tail.append(`${secret}${"x".repeat(length)}`);
      expect(tail.text()).not.toContain("s");
    }
  });

  it("keeps the same end however the text is cut", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "grapheme", maxLength: 8 })), (parts) => {
        const [cut, whole] = [createTextTail(limits), createTextTail(limits)];
        for (const part of parts) cut.append(part);
        whole.append(parts.join(""));
        expect(cut.text()).toBe(whole.text());
        expect(cut.text().isWellFormed()).toBe(true);
      }),
    );
  });
});

const limits = { maxChars: 12, maxLines: 4 };
