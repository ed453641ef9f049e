/** The parts of Deno and Bun that are used here: their packages declare everything else again, too. */
declare const Deno: {
  readonly env: { get(name: string): string | undefined };
  serve(
    options: { readonly port: number; readonly hostname: string },
    handler: (request: Request) => Response | Promise<Response>,
  ): unknown;
};

declare const Bun: {
  serve(options: {
    readonly port: number;
    readonly hostname: string;
    readonly idleTimeout: number;
    readonly fetch: (request: Request) => Response | Promise<Response>;
  }): unknown;
};
