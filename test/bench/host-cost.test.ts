import { describe, expect, it } from "vitest";
import { openHost, serveHttp } from "../e2e/support/built.ts";

// What a host costs on top of its clients.

describe("50 servers with 100 tools each", () => {
  it("are listed as one, and the host costs less than a tenth on top of the clients", async () => {
    const { createServer, tool }: typeof import("../../src/server/index.ts") = await import("plugbay/server" as string);
    const tools = Object.fromEntries(
      Array.from({ length: 100 }, (_, index) => [
        `tool_${index}`,
        tool({ description: `Tool ${index}`, run: () => `${index}` }),
      ]),
    );
    const servers = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        serveHttp(createServer({ name: `s${index}`, version: "1", tools }), { port: 0 }),
      ),
    );
    await using host = await openHost(Object.fromEntries(servers.map(({ url }, index) => [`s${index}`, `${url}`])));
    const listed = await host.listTools();
    expect(listed.length).toBe(5_000);
    expect(listed.missing).toEqual([]);

    const clients = await Promise.all(servers.map((_, index) => host.client(`s${index}`)));
    const names = Array.from({ length: 128 }, (_, index) => [index % 50, (index * 7) % 100] as const);
    const direct = () => inFlight(names, 64, ([server, number]) => clients[server]?.callTool(`tool_${number}`));
    const routed = () => inFlight(names, 64, ([server, number]) => host.callTool(`s${server}:tool_${number}`));
    // Many short pairs, each in the other order than the one before: what else goes on meets both of a pair alike,
    // and what meets one alone (a collection of garbage, say) is not in the middle of all pairs.
    const ratios: number[] = [];
    for (let round = 0; round < 100; round++) {
      const before = await cpuOf(direct);
      ratios.push((await cpuOf(routed)) / before);
      const first = await cpuOf(routed);
      ratios.push(first / (await cpuOf(direct)));
    }
    expect(median(ratios)).toBeLessThan(1.1);
    await Promise.all(servers.map((server) => server.close()));
  });
});

function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

async function cpuOf(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

/** Does something with each item, so many at a time. */
async function inFlight<T>(
  items: readonly T[],
  width: number,
  work: (item: T) => Promise<unknown> | undefined,
): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < items.length) {
      const item = items[next++];
      if (item !== undefined) await work(item);
    }
  };
  await Promise.all(Array.from({ length: width }, lane));
}
