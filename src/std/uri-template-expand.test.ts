import { StdUriTemplate } from "@std-uritemplate/std-uritemplate";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseUriTemplate, type TemplateValues } from "./uri-template.ts";

function expand(source: string, values: TemplateValues): string {
  const parsed = parseUriTemplate(source);
  if (!parsed.ok) throw new Error(parsed.problem);
  return parsed.value.expand(values);
}

/** The variables of RFC 6570 section 3.2. */
const rfcValues: TemplateValues = {
  count: ["one", "two", "three"],
  dom: ["example", "com"],
  dub: "me/too",
  hello: "Hello World!",
  half: "50%",
  var: "value",
  who: "fred",
  base: "http://example.com/home/",
  path: "/foo/bar",
  list: ["red", "green", "blue"],
  keys: { semi: ";", dot: ".", comma: "," },
  v: "6",
  x: "1024",
  y: "768",
  empty: "",
  empty_keys: [],
  undef: null,
};

/** One example a line: a template and what becomes of it. */
const rfcExamples = {
  "3.2.1 variables": `
    {count} one,two,three
    {count*} one,two,three
    {/count} /one,two,three
    {/count*} /one/two/three
    {;count} ;count=one,two,three
    {;count*} ;count=one;count=two;count=three
    {?count} ?count=one,two,three
    {?count*} ?count=one&count=two&count=three
    {&count*} &count=one&count=two&count=three`,
  "3.2.2 simple strings": `
    {var} value
    {hello} Hello%20World%21
    {half} 50%25
    O{empty}X OX
    O{undef}X OX
    {x,y} 1024,768
    {x,hello,y} 1024,Hello%20World%21,768
    ?{x,empty} ?1024,
    ?{x,undef} ?1024
    ?{undef,y} ?768
    {var:3} val
    {var:30} value
    {list} red,green,blue
    {list*} red,green,blue
    {keys} semi,%3B,dot,.,comma,%2C
    {keys*} semi=%3B,dot=.,comma=%2C`,
  "3.2.3 reserved": `
    {+var} value
    {+hello} Hello%20World!
    {+half} 50%25
    {base}index http%3A%2F%2Fexample.com%2Fhome%2Findex
    {+base}index http://example.com/home/index
    O{+empty}X OX
    O{+undef}X OX
    {+path}/here /foo/bar/here
    here?ref={+path} here?ref=/foo/bar
    up{+path}{var}/here up/foo/barvalue/here
    {+x,hello,y} 1024,Hello%20World!,768
    {+path,x}/here /foo/bar,1024/here
    {+path:6}/here /foo/b/here
    {+list} red,green,blue
    {+list*} red,green,blue
    {+keys} semi,;,dot,.,comma,,
    {+keys*} semi=;,dot=.,comma=,`,
  "3.2.4 fragments": `
    {#var} #value
    {#hello} #Hello%20World!
    {#half} #50%25
    foo{#empty} foo#
    foo{#undef} foo
    {#x,hello,y} #1024,Hello%20World!,768
    {#path,x}/here #/foo/bar,1024/here
    {#path:6}/here #/foo/b/here
    {#list} #red,green,blue
    {#list*} #red,green,blue
    {#keys} #semi,;,dot,.,comma,,
    {#keys*} #semi=;,dot=.,comma=,`,
  "3.2.5 labels": `
    {.who} .fred
    {.who,who} .fred.fred
    {.half,who} .50%25.fred
    www{.dom*} www.example.com
    X{.var} X.value
    X{.empty} X.
    X{.undef} X
    X{.var:3} X.val
    X{.list} X.red,green,blue
    X{.list*} X.red.green.blue
    X{.keys} X.semi,%3B,dot,.,comma,%2C
    X{.keys*} X.semi=%3B.dot=..comma=%2C
    X{.empty_keys} X
    X{.empty_keys*} X`,
  "3.2.6 path segments": `
    {/who} /fred
    {/who,who} /fred/fred
    {/half,who} /50%25/fred
    {/who,dub} /fred/me%2Ftoo
    {/var,empty} /value/
    {/var,undef} /value
    {/var,x}/here /value/1024/here
    {/var:1,var} /v/value
    {/list} /red,green,blue
    {/list*} /red/green/blue
    {/list*,path:4} /red/green/blue/%2Ffoo
    {/keys} /semi,%3B,dot,.,comma,%2C
    {/keys*} /semi=%3B/dot=./comma=%2C`,
  "3.2.7 path parameters": `
    {;who} ;who=fred
    {;half} ;half=50%25
    {;empty} ;empty
    {;v,empty,who} ;v=6;empty;who=fred
    {;v,bar,who} ;v=6;who=fred
    {;x,y,undef} ;x=1024;y=768
    {;hello:5} ;hello=Hello
    {;list} ;list=red,green,blue
    {;list*} ;list=red;list=green;list=blue
    {;keys} ;keys=semi,%3B,dot,.,comma,%2C
    {;keys*} ;semi=%3B;dot=.;comma=%2C`,
  "3.2.8 queries": `
    {?who} ?who=fred
    {?half} ?half=50%25
    {?x,y} ?x=1024&y=768
    {?x,y,empty} ?x=1024&y=768&empty=
    {?x,y,undef} ?x=1024&y=768
    {?var:3} ?var=val
    {?list} ?list=red,green,blue
    {?list*} ?list=red&list=green&list=blue
    {?keys} ?keys=semi,%3B,dot,.,comma,%2C
    {?keys*} ?semi=%3B&dot=.&comma=%2C`,
  "3.2.9 query continuations": `
    {&who} &who=fred
    {&half} &half=50%25
    ?fixed=yes{&x} ?fixed=yes&x=1024
    {&x,y,empty} &x=1024&y=768&empty=
    {&x,y,undef} &x=1024&y=768
    {&var:3} &var=val
    {&list} &list=red,green,blue
    {&list*} &list=red&list=green&list=blue
    {&keys} &keys=semi,%3B,dot,.,comma,%2C
    {&keys*} &semi=%3B&dot=.&comma=%2C`,
};

describe.each(Object.entries(rfcExamples))("RFC 6570 %s", (_, examples) => {
  it.each(
    examples
      .trim()
      .split(/\n\s*/)
      .map((line) => line.split(" ")),
  )("%s", (source = "", uri = "") => {
    expect(expand(source, rfcValues)).toBe(uri);
  });
});

describe("expand", () => {
  it.each<[string, string, TemplateValues, string]>([
    ["numbers and booleans", "{a}{?b,c*}", { a: 1.5, b: false, c: [0, true] }, "1.5?b=false&c=0&c=true"],
    ["undefined members", "{?a*,b,c*}", { a: [undefined, 1], b: [null], c: { x: undefined } }, "?a=1"],
    ["characters that JavaScript leaves alone", "{a}", { a: "!'()*" }, "%21%27%28%29%2A"],
    ["brackets", "{+a}{b}", { a: "[::1]", b: "[]" }, "[::1]%5B%5D"],
    ["triplets", "{+a}{#a}{a}", { a: "%2f%5B%zz%" }, "%2f%5B%25zz%25#%2f%5B%25zz%25%252f%255B%25zz%25"],
    ["code points", "{a:2}{+b:1}", { a: "😀é!", b: "😀" }, "%F0%9F%98%80%C3%A9%F0%9F%98%80"],
    ["literals outside ASCII", "x://é/%C3/{a}", { a: 1 }, "x://%C3%A9/%C3/1"],
    ["lone surrogates", "{a}{+a}", { a: "\ud800" }, "%EF%BF%BD%EF%BF%BD"],
    ["delimiters in keys", "{?a*}", { a: { "b&c": "=" } }, "?b%26c=%3D"],
    ["empty members", "{;a,b,c*}", { a: ["", ""], b: [""], c: { x: "" } }, ";a=,;b;x"],
    ["inherited names", "x{constructor}{toString}", {}, "x"],
    [
      "own names of the prototype",
      "{__proto__}{?a*}",
      JSON.parse('{"__proto__":"p","a":{"__proto__":"q"}}'),
      "p?__proto__=q",
    ],
  ])("writes %s", (_, source, values, uri) => {
    expect(expand(source, values)).toBe(uri);
  });

  it.each([{ a: ["x"] }, { a: { x: 1 } }])("refuses a prefix of %j", (values) => {
    expect(() => expand("{a:3}", values)).toThrow("the prefix :3 of a does not apply to a list or a record");
  });

  it("agrees with another implementation", () => {
    // The other one leaves some characters alone and mistakes a bare % and empty members; those are covered above.
    const text = fc.string({ unit: fc.constantFrom(..."abZ09-._~:/?#[@$&+,;= !é€😀", "%20") });
    const filled = fc.string({ unit: fc.constantFrom(..."ab/&=,é😀", "%20"), minLength: 1 });
    const value = fc.oneof(text, fc.integer(), fc.boolean(), fc.array(filled), fc.dictionary(filled, filled));
    const values = fc.record({ a: value, b: value, c: text, d: text }, { requiredKeys: [] });
    const variable = fc.constantFrom("a", "b", "c", "d", "a*", "b*", "c:1", "c:3", "d:2", "d*", "other");
    const expression = fc
      .tuple(fc.constantFrom("", "+", "#", ".", "/", ";", "?", "&"), fc.array(variable, { minLength: 1, maxLength: 4 }))
      .map(([operator, variables]) => `{${operator}${variables.join(",")}}`);
    const source = fc.array(fc.oneof(expression, fc.constantFrom("x://", "/", "-"))).map((parts) => parts.join(""));

    fc.assert(
      fc.property(source, values, (template, given) => {
        expect(expand(template, given)).toBe(StdUriTemplate.expand(template, given));
      }),
      { numRuns: 1000 },
    );
  });
});
