import { until } from "../bounded.mjs";
import { initializeRequest, modernHeaders, modernRequest } from "../messages.mjs";
import { judge } from "../verdicts.mjs";

// Bytes that a proxy in front might read in another way than the server does.

const UNANSWERED_MS = 1_500;

export const framingAttacks = [
  framing("two-lengths", "sends two Content-Length headers that differ", (parts) => [
    parts.whole({ "content-length": [parts.length, parts.length + 5] }),
    parts.whole({ "content-length": `${parts.length}, ${parts.length + 5}` }),
    parts.whole({ "content-length": `+${parts.length}` }),
    parts.whole({ "content-length": `0x${parts.length.toString(16)}` }),
    parts.whole({ "content-length": "-1" }),
    parts.whole({ "content-length": "99999999999999999999" }),
  ]),
  framing(
    "length-and-chunks",
    "sends Content-Length together with Transfer-Encoding, and encodings that are not chunked",
    (parts) => [
      parts.whole({ "content-length": parts.length, "transfer-encoding": "chunked" }, parts.chunked),
      parts.whole({ "content-length": 4, "transfer-encoding": "chunked" }, parts.chunked),
      parts.whole({ "transfer-encoding": "xchunked" }, parts.chunked),
      parts.whole({ "transfer-encoding": "chunked, identity" }, parts.chunked),
      parts.whole({ "transfer-encoding": ["chunked", "identity"] }, parts.chunked),
      parts.whole({ "transfer-encoding ": "chunked" }, parts.chunked),
      parts.whole({ "transfer-encoding": "\u000bchunked" }, parts.chunked),
    ],
  ),
  framing("bad-chunks", "sends chunks whose sizes are wrong", (parts) => {
    const chunked = { "transfer-encoding": "chunked" };
    const size = parts.length.toString(16);
    return [
      parts.whole(chunked, `-${size}\r\n${parts.body}\r\n0\r\n\r\n`),
      parts.whole(chunked, `0x${size}\r\n${parts.body}\r\n0\r\n\r\n`),
      parts.whole(chunked, `${size} \r\n${parts.body}\r\n0\r\n\r\n`.replace(" ", "\u000b")),
      parts.whole(chunked, `fffffffffffffffff\r\n${parts.body}\r\n0\r\n\r\n`),
      parts.whole(chunked, `${size}\n${parts.body}\n0\n\n`),
      parts.whole(chunked, `${size}\r\n${parts.body}XX0\r\n\r\n`),
      parts.whole(chunked, `${size};a=\n${parts.body}\r\n0\r\n\r\n`),
    ];
  }),
  framing(
    "line-feeds-only",
    "ends the lines of the head without carriage returns, folds lines, or puts blanks before colons",
    (parts) => [
      parts.whole({ "content-length": parts.length }).replaceAll("\r\n", "\n"),
      parts.whole({ "content-length": parts.length }).replaceAll("\r\n", "\r"),
      parts.whole({ "x-folded": "a\r\n b", "content-length ": parts.length }),
      parts.whole({ "content-length": parts.length, "x\u0000": "1" }),
      parts.whole({ "content-length": parts.length, "": "1" }),
      parts.whole({ "content-length": parts.length }).replace("HTTP/1.1", "HTTP/3.7"),
      parts.whole({ "content-length": parts.length, host: ["localhost", "evil.example"] }),
      parts.whole({ "content-length": parts.length, host: "" }),
    ],
  ),
  {
    id: "second-request-in-body",
    covers: ["V20"],
    title: "hides a second request behind a body",
    async run({ first, target }) {
      const parts = partsOf(first, target);
      const hidden = parts.whole({ "content-length": parts.length });
      const tried = [
        parts.whole({ "content-length": 4, "transfer-encoding": "chunked" }, `0\r\n\r\n${hidden}`),
        parts.whole({ "content-length": [0, hidden.length] }, hidden),
        parts.whole({ "transfer-encoding": "identity", "content-length": 0 }, hidden),
      ];
      const answers = await Promise.all(tried.map((bytes) => exchange(first, bytes)));
      // The third has a body of no bytes, and what follows is a request that may be answered as one.
      const problems = answers
        .slice(0, 2)
        .flatMap((text) => (served(text) > 0 ? ["the hidden request was answered"] : []));
      return judge(problems, `answers: ${answers.map(statusOf).join(", ")}`);
    },
  },
  {
    id: "huge-heads",
    covers: ["V24"],
    title: "sends 1 MB of headers, 5,000 headers and a URL of 1 MB",
    async run({ first, target }) {
      const parts = partsOf(first, target);
      const length = { "content-length": parts.length };
      const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`x-${n}`, "1"]));
      const tried = [
        parts.whole({ ...length, "x-long": "x".repeat(1_000_000) }),
        parts.whole({ ...length, ...many }),
        parts.whole(length).replace(first.wire.path, `${first.wire.path}?${"x".repeat(1_000_000)}`),
      ];
      const answers = await Promise.all(tried.map((bytes) => exchange(first, bytes)));
      const problems = answers.flatMap((text) =>
        served(text) > 0 ? [`the request was served: ${statusOf(text)}`] : [],
      );
      return judge(problems, `answers: ${answers.map(statusOf).join(", ")}`);
    },
  },
  {
    id: "no-http",
    covers: ["V41"],
    title: "sends bytes that are not HTTP",
    async run({ first }) {
      const tried = [
        Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc]),
        Buffer.from(`${JSON.stringify(modernRequest("tools/list"))}\n`),
        Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        Buffer.alloc(4_096),
        Buffer.from("GET /\r\n\r\n"),
      ];
      const answers = await Promise.all(tried.map((bytes) => exchange(first, bytes)));
      const problems = answers.flatMap((text) => (served(text) > 0 ? [statusOf(text)] : []));
      return judge(problems, `answers: ${answers.map(statusOf).join(", ")}`);
    },
  },
];

/** An attack that is one malformed request in several forms: none may be served. */
function framing(id, title, forms) {
  return {
    id,
    covers: ["V20"],
    title,
    async run({ first, target }) {
      const tried = forms(partsOf(first, target));
      const answers = await Promise.all(tried.map((bytes) => exchange(first, bytes)));
      const problems = answers.flatMap((text, at) =>
        served(text) > 0 ? [`form ${at + 1} was served: ${statusOf(text)}`] : [],
      );
      return judge(problems, `${tried.length} forms were refused: ${[...new Set(answers.map(statusOf))].join(", ")}`);
    },
  };
}

/** A request that would be served if its bytes were in order. */
function partsOf({ wire }, { isModern }) {
  const body = JSON.stringify(isModern ? modernRequest("server/discover") : initializeRequest());
  const usual = isModern ? modernHeaders("server/discover") : {};
  return {
    body,
    length: body.length,
    chunked: `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
    whole: (headers, bytes = body) => wire.head({ headers: { ...usual, ...headers } }) + bytes,
  };
}

/** What comes back for some bytes until the server closes, or is silent. */
async function exchange({ wire }, bytes) {
  const raw = await wire.socket();
  raw.socket.write(typeof bytes === "string" ? Buffer.from(bytes, "latin1") : bytes);
  await until(() => raw.isClosed || raw.text.includes("\r\n\r\n"), UNANSWERED_MS);
  // A second answer would come at once.
  await until(() => raw.isClosed, 100);
  raw.socket.destroy();
  return raw.text;
}

function served(text) {
  return [...text.matchAll(/HTTP\/1\.\d 2\d\d/g)].length;
}

function statusOf(text) {
  return /HTTP\/1\.\d (\d+)/.exec(text)?.[1] ?? "no answer";
}
