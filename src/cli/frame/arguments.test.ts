import { describe, expect, it } from "vitest";
import type { OptionSpecs } from "../command.ts";
import { readOptions } from "./arguments.ts";

const specs = {
  wait: { type: "flag", short: "w", meaning: "wait" },
  header: { type: "texts", short: "H", value: "line", meaning: "a header" },
  price: { type: "number", value: "sum", meaning: "a price" },
} as const satisfies OptionSpecs;

describe("a word that begins with a hyphen", () => {
  it("is an argument where no option has its letter", () => {
    const { args, options } = readOptions(["shop", "-fgu2k", "-w"], specs);
    expect(args).toEqual(["shop", "-fgu2k"]);
    expect(options.wait).toBe(true);
  });

  it("is the value of the option before it", () => {
    const { args, options } = readOptions(["--price", "-15", "-H", "-x: 1", "--header=-y: 2"], specs);
    expect(args).toEqual([]);
    expect(options).toMatchObject({ price: -15, header: ["-x: 1", "-y: 2"] });
  });

  it("is an unknown option when it is a single letter or has two hyphens", () => {
    expect(() => readOptions(["-f"], specs)).toThrow("unknown option -f");
    expect(() => readOptions(["--fgu"], specs)).toThrow("unknown option --fgu");
  });
});
