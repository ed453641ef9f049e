/** The part of Koa that is used here: the package has no types of its own. */
declare module "koa" {
  import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";

  interface Context {
    readonly path: string;
    readonly req: IncomingMessage;
    readonly res: ServerResponse;
    readonly request: { readonly body?: unknown };
    respond: boolean;
  }

  class Koa {
    use(middleware: (ctx: Context, next: () => Promise<void>) => unknown): this;
    callback(): RequestListener;
    listen(port: number, host: string): Server;
  }
  export = Koa;
}
