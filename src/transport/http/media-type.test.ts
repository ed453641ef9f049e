import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type AnswerType, accepts, isJsonType } from "./http-message.ts";

describe("isJsonType", () => {
  it.each([
    "application/json",
    "Application/JSON",
    "application/json;",
    "application/json ; charset=utf-8",
    "application/json;charset=UTF-8",
    'application/json; charset="utf-8"',
    "application/json; profile=x; charset=utf-8",
    'application/json; a="; charset=latin1 \\""',
    "application/json ;\t; ;a=b ;",
  ])("C104: takes %s", (type) => {
    expect(isJsonType(type)).toBe(true);
  });

  it.each([
    undefined,
    "",
    "text/plain",
    "text/plain; a=application/json",
    "text/plain;application/json",
    "application/jsonp",
    "application/json-rpc",
    "application/json+x",
    "xapplication/json",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=application/json",
    "application/json, text/plain",
    "text/plain, application/json",
    "application/json; charset=latin1",
    "application/json; charset=utf-16",
    "application/json; charset=utf-8x",
    'application/json; charset="utf-8',
    "application/json; CHARSET=iso-8859-1",
    "application/json; charset=utf-8; charset=utf-16",
    "application/json; a",
    "application/json; a=b c",
    'application/json; a="b',
    "application/json\n",
  ])("C104: refuses %j", (type) => {
    expect(isJsonType(type)).toBe(false);
  });

  it("takes time in proportion to the length", () => {
    const long = ['; a="\\"', ";   ", "; a=b", "; charset=utf-8"].map((part) => part.repeat(20_000));
    for (const parameters of long) expect(isJsonType(`application/json${parameters}(`)).toBe(false);
  });
});

describe("accepts", () => {
  it.each<readonly [string | undefined, boolean, boolean]>([
    [undefined, true, true],
    ["*/*", true, true],
    ["application/json, text/event-stream", true, true],
    ["application/json,text/event-stream", true, true],
    ["text/event-stream, application/json", true, true],
    ["text/event-stream,application/json", true, true],
    ["TEXT/event-stream ,\tapplication/JSON", true, true],
    ["application/*, text/*", true, true],
    ["text/html, */*;q=0.1", true, true],
    ["application/json;charset=utf-8, text/event-stream;q=0.5", true, true],
    ["application/json", true, false],
    ["application/*", true, false],
    ["text/event-stream", false, true],
    ["text/*;q=0.001", false, true],
    ["", false, false],
    [",", false, false],
    ["*", false, false],
    ["text/html", false, false],
    ["application/jsonp, text/event-streams", false, false],
    ["*/*, application/json;q=0", false, true],
    ["*/*;q=0, text/event-stream", false, true],
    ["text/*;q=0.000, */*", true, false],
    ["application/*;q=0, application/json", true, false],
    ["application/json; Q=0, text/event-stream; v=1; q=0.0", false, false],
    ["application/json;v=1;q=0, application/json", true, false],
    ["application/json, application/json;v=1;q=0", true, false],
    ["application/json;q=high, text/event-stream;q=", false, false],
  ])("C104: of %j json is %j, a stream is %j", (accept, json, stream) => {
    expect(accepts(accept, "application/json")).toBe(json);
    expect(accepts(accept, "text/event-stream")).toBe(stream);
    expect(accepts(accept, "application/json", "text/event-stream")).toBe(json && stream);
  });

  it("does not depend on the order of ranges", () => {
    const range = fc.constantFrom("*/*", "*/*;q=0", "application/*;q=0", "application/json", "text/*", "text/html;q=0");
    const types: readonly AnswerType[] = ["application/json", "text/event-stream"];
    fc.assert(
      fc.property(fc.array(range), (ranges) => {
        const reversed = ranges.toReversed().join(" , ");
        for (const type of types) expect(accepts(ranges.join(","), type)).toBe(accepts(reversed, type));
      }),
    );
  });
});
