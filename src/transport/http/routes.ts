/** A handler of the Fetch standard. */
export type FetchRoute = (request: Request) => Response | Promise<Response>;

/**
 * What else is served beside the endpoint: a handler of the Fetch standard for each path. One that ends with `/*` takes all
 * below it that no longer one takes.
 */
export type Routes = Readonly<Record<string, FetchRoute>>;
