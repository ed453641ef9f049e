/** The part of Express that is used here: the package has no types of its own. */
declare module "express" {
  import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";

  type Handler = (request: IncomingMessage, response: ServerResponse, next: () => void) => void;

  interface App extends RequestListener {
    all(path: string, handler: Handler): App;
    use(path: string, handler: Handler): App;
    use(handler: Handler): App;
    listen(port: number, host: string): unknown;
  }

  function express(): App;
  namespace express {
    function json(options?: { limit: string }): Handler;
  }
  export = express;
}
