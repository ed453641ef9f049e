import type { Connection } from "../model/connection.ts";
import { toError } from "../model/errors.ts";
import type { Clock } from "../std/clock.ts";
import type { Requests } from "./request.ts";

/** The end of a client. */
export interface Lifetime {
  /** True once this side has closed the connection. */
  isClosed(): boolean;
  /** Fails what is open, then waits for the connection to close. Idempotent, never rejects. */
  close(): Promise<void>;
}

/** Ends the requests of a client with its connection, whoever closes it. No request outlives it. */
export function createLifetime(connection: Connection, requests: Requests, clock: Clock): Lifetime {
  let closedHere = false;
  let closing: Promise<void> | undefined;

  void connection.ended.then((ending) => {
    closedHere ||= ending === undefined;
    requests.refuse(ending?.message ?? "the connection is closed", ending && toError(ending));
    // What arrived before the end may still be on its way through a few promises.
    clock.after(0, requests.endAll);
  });

  return {
    isClosed: () => closedHere,
    close() {
      if (closing === undefined) {
        closedHere = true;
        requests.refuse("the client is closed");
        closing = connection.close();
        requests.endAll();
      }
      return closing;
    },
  };
}
