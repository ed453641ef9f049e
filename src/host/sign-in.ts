import { readTarget } from "../connect/target.ts";
import { McpError } from "../protocol/errors.ts";
import type { ServerSlot } from "./server-slot.ts";

/** Signing in to servers of a host, and out again. */
interface SignIns {
  signIn(server: string): Promise<void>;
  signOut(server: string): Promise<void>;
}

/** `slotOf` throws for a server that is not there. */
export function createSignIns(slotOf: (server: string) => ServerSlot): SignIns {
  return {
    async signIn(server) {
      const { member, auth, spec } = slotOf(server);
      if (auth?.signIn === undefined) throw noAuth(server, "sign in");
      await auth.signIn(urlOf(spec.target, server));
      member.restart();
      await member.open();
    },
    async signOut(server) {
      const { member, auth, spec } = slotOf(server);
      if (auth?.signOut === undefined) throw noAuth(server, "sign out");
      const data = { reason: "interaction-required" };
      member.unauthorized({ code: "unauthorized", message: "signed out: call signIn to sign in again", data });
      await auth.signOut(urlOf(spec.target, server));
    },
  };
}

function urlOf(target: ServerSlot["spec"]["target"], server: string): URL {
  const place = readTarget(target);
  if (place.kind === "url") return place.url;
  throw new McpError("unsupported", `server ${server} is not at a URL: there is nothing to sign in to`);
}

function noAuth(server: string, what: string): McpError {
  const message = `cannot ${what}: server ${server} has no auth that can; give it one, such as oauth(), in its connectOptions or as auth of openHost`;
  return new McpError("unsupported", message);
}
