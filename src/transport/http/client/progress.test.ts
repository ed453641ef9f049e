import { describe, expect, it, vi } from "vitest";
import { httpLegacy, httpModern } from "../../../../test/support/http-connected.ts";

const text = (said: string) => ({ resultType: "complete", content: [{ type: "text", text: said }] });
const answer = (id: unknown, result: object) => ({ jsonrpc: "2.0", id, result }) as never;
const progress = (progressToken: unknown, value: number) =>
  ({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken, progress: value } }) as never;

describe.each([
  ["modern", httpModern],
  ["legacy", httpLegacy],
] as const)("progress from a %s server over HTTP", (_, open) => {
  it("reaches the call of its token, whichever stream it comes on (B5)", async () => {
    const { client, http } = await open();
    const [first, second] = [vi.fn(), vi.fn()];
    const results = [
      client.callTool("a", {}, { onProgress: first }),
      client.callTool("b", {}, { onProgress: second }),
      client.callTool("c"),
    ];
    const one = await http.expect("tools/call");
    const two = await http.expect("tools/call");
    const three = await http.expect("tools/call");
    const [streamOne, streamTwo, streamThree] = [one.stream(), two.stream(), three.stream()];
    streamOne.say(progress(two.id, 1));
    streamThree.say(progress(one.id, 2));
    for (const token of [three.id, 999, "nobody", undefined, null]) streamOne.say(progress(token, 3));
    streamThree.say(answer(three.id, text("C")));
    streamOne.say(answer(one.id, text("A")));
    streamTwo.say(answer(two.id, text("B")));
    await Promise.all(results);
    expect(first.mock.calls).toEqual([[{ progress: 2 }]]);
    expect(second.mock.calls).toEqual([[{ progress: 1 }]]);
  });
});
