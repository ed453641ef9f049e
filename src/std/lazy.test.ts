import { describe, expect, it } from "vitest";
import { lazy } from "./lazy.ts";

describe("lazy", () => {
  it("loads nothing before it is needed", async () => {
    let loads = 0;
    const part = lazy(async () => ++loads);
    expect([part.loaded, await part.settled(), loads]).toEqual([undefined, undefined, 0]);
  });

  it("answers without waiting once it is loaded", async () => {
    let loads = 0;
    const part = lazy(async () => ++loads);
    expect([await part.load(), await part.load(), part.loaded, loads]).toEqual([1, 1, 1, 1]);
  });

  it("is made once, also for those who ask while it is loaded", async () => {
    const part = lazy(
      async () => ({ create: () => ({}) }),
      ({ create }) => create(),
    );
    const [one, other] = await Promise.all([part.load(), part.load()]);
    expect(one).toBe(other);
    expect(part.loaded).toBe(one);
  });

  it("lets all go on in the order in which they asked, however long loading takes each time", async () => {
    const loads = [new Promise<string>((resolve) => setImmediate(resolve, "module")), Promise.resolve("module")];
    const part = lazy(() => loads.shift() ?? Promise.reject(new Error("loaded too often")));
    const order: string[] = [];
    await Promise.all(["first", "second"].map((name) => part.load().then(() => order.push(name))));
    expect(order).toEqual(["first", "second"]);
  });

  it("lets no request of a Worker wait for what another one has begun to load", async () => {
    const never = new Promise<string>(() => {});
    const loads = [never, Promise.resolve("module")];
    const part = lazy(
      () => loads.shift() ?? never,
      (module) => module,
      true,
    );
    void part.load();
    expect(await part.load()).toBe("module");
  });

  it("tries again after a failure", async () => {
    const loads = [Promise.reject(new Error("no such file")), Promise.resolve("module")];
    const part = lazy(() => loads.shift() ?? Promise.reject(new Error("loaded too often")));
    await expect(part.load()).rejects.toThrow("no such file");
    expect([part.loaded, await part.settled()]).toEqual([undefined, undefined]);
    expect([await part.load(), part.loaded]).toEqual(["module", "module"]);
  });

  it("tries again when nothing could be made of it", async () => {
    let attempts = 0;
    const make = (module: string): string => {
      if (++attempts === 1) throw new Error("not yet");
      return module;
    };
    const part = lazy(async () => "module", make);
    await expect(part.load()).rejects.toThrow("not yet");
    expect(await part.load()).toBe("module");
  });

  it("waits for loading that has begun", async () => {
    const part = lazy(async () => "module");
    void part.load();
    expect(part.loaded).toBeUndefined();
    expect(await part.settled()).toBe("module");
  });
});
