import { afterEach, describe, expect, it, vi } from "vitest";
import { messagesOf, modernCall, serveFake } from "../../../test/support/fake-endpoint.ts";
import { eventually } from "../../../test/support/patience.ts";
import { modern, serve } from "../../../test/support/served.ts";
import { connect } from "../../connect/index.ts";
import { metaKeys } from "../../protocol/meta.ts";
import type { Service } from "../../protocol/service.ts";
import type { ServerOptions } from "../options.ts";
import { createServer } from "../server.ts";
import { tool } from "../tool.ts";

const form = { type: "object", properties: { ok: { type: "boolean" } } } as const;
const able = { [metaKeys.clientCapabilities]: { elicitation: { form: {} } } };

const shop = (options: Partial<ServerOptions> = {}) =>
  createServer({
    name: "shop",
    version: "1",
    ...options,
    tools: {
      greet: tool({ run: () => "hello" }),
      buy: tool({ run: async (_, { ask }) => String((await ask("Sure?", form)).ok) }),
    },
  });

/** Calls a tool as modern clients do that cannot be asked while they wait. */
const ways: Readonly<Record<string, (server: Service) => (name: string) => Promise<unknown>>> = {
  HTTP(server) {
    const { post } = serveFake(server);
    return async (name) => {
      const { body, headers } = modernCall(1, name, {}, able);
      const reply = post(body, headers);
      await eventually(() => expect(messagesOf(reply)).toHaveLength(1));
      return messagesOf(reply)[0]?.result;
    };
  },
  stdio(server) {
    const { client } = serve(server);
    return async (name) => (await client.request("tools/call", modern({ name }, able))).result;
  },
};

const asked = { resultType: "input_required", requestState: expect.any(String) };
const listen = () => vi.spyOn(console, "warn").mockImplementation(() => {});

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

describe.each(Object.entries(ways))("a key that was made up, over %s", (_, way) => {
  it("is warned of when it first seals something, and only then", async () => {
    const warn = listen();
    const call = way(shop());
    expect(await call("greet")).toMatchObject({ resultType: "complete" });
    expect(warn).not.toHaveBeenCalled();
    expect(await call("buy")).toMatchObject(asked);
    expect(await call("buy")).toMatchObject(asked);
    expect(warn.mock.calls).toEqual([[expect.stringMatching(/stateKeys.*PLUGBAY_STATE_KEYS/)]]);
  });

  it("is warned of by each server", async () => {
    const warn = listen();
    await Promise.all([way(shop())("buy"), way(shop({ stateKeys: [] }))("buy")]);
    expect(warn).toHaveBeenCalledTimes(2);
  });

  it.each([
    ["the option", { stateKeys: ["0op0l4ykw55TFPGq7tfCoIhgQBKQVFpgrTC_P7gktvk"] }, undefined],
    ["the environment", {}, "0op0l4ykw55TFPGq7tfCoIhgQBKQVFpgrTC_P7gktvk"],
  ])("is none where %s has one", async (_, options, variable) => {
    const warn = listen();
    vi.stubEnv("PLUGBAY_STATE_KEYS", variable);
    expect(await way(shop(options))("buy")).toMatchObject(asked);
    expect(warn).not.toHaveBeenCalled();
  });
});

it("a key is not needed, nor warned of, where the caller is asked in the same process", async () => {
  const warn = listen();
  await using client = await connect(shop(), { onElicit: () => ({ ok: true }) });
  expect(await client.tools.buy({})).toBe("true");
  expect(warn).not.toHaveBeenCalled();
});
