import type { Server } from "../../../src/server/index.ts";
import { serveHttp } from "../../e2e/support/built.ts";

/** The server of these tests at a URL, in this process. */
export interface ServedShop {
  readonly url: string;
  /** Says that the stock has changed. */
  change(): void;
  close(): Promise<void>;
}

export async function serveShop(port = 0): Promise<ServedShop> {
  const path: string = "../../fixtures/children/shop-server.mjs";
  const { shop }: { shop: Server } = await import(path);
  const { url, close } = await serveHttp(shop, { port, drainMs: 0 });
  return { url, change: () => shop.resourceUpdated("stock://all"), close };
}
