import type { JsonObject } from "../json/json.ts";
import { type ClientInfo, session } from "./peer.ts";
import type { CallOrigin, Service } from "./service.ts";
import type { State } from "./state.ts";

/** What a server does when sessions of its clients begin and end. */
export interface SessionHooks {
  /** Resolves when calls of the session may come. Never rejects. */
  begin(client: CallOrigin): Promise<void>;
  /** Called by every process that finds a session ended. Never rejects. */
  end(id: string): Promise<void>;
  /** What is kept for a session. */
  stateOf(id: string): State<JsonObject>;
}

/** A service that may want to know of sessions. What it does about them is loaded with the first. */
interface KnowsSessions {
  readonly sessions?: (() => Promise<SessionHooks>) | undefined;
  /** True when what changes may differ from session to session. Else sessions of one principal hear of changes together. */
  readonly changesBySession?: boolean | undefined;
}

/** Tells a service that the session of a client begins. */
export async function beginSession({ sessions }: Service & KnowsSessions, client: CallOrigin): Promise<void> {
  await (await sessions?.())?.begin(client);
}

/** Tells a service that a session is over. Never rejects. */
export async function endSession({ sessions }: Service & KnowsSessions, id: string): Promise<void> {
  try {
    await (await sessions?.())?.end(id);
  } catch (error) {
    console.error("plugbay: the end of a session was not told:", error);
  }
}

/** A client with its session, as handlers see it. A service that keeps nothing for sessions gets the client as it is. */
export function withSession({ sessions }: Service & KnowsSessions, client: ClientInfo, id: string): ClientInfo {
  return sessions === undefined ? client : { ...client, [session]: { id, state: createSessionState(sessions, id) } };
}

/** The client of a session as one who listens for changes. Undefined where it hears of the same as others. */
export function listenerOf(service: Service & KnowsSessions, client: ClientInfo, id: string): ClientInfo | undefined {
  return service.changesBySession === true ? withSession(service, client, id) : undefined;
}

function createSessionState(load: () => Promise<SessionHooks>, id: string): State<JsonObject> {
  const state = async (): Promise<State<JsonObject>> => (await load()).stateOf(id);
  return {
    get: async () => (await state()).get(),
    set: async (value) => (await state()).set(value),
    update: async (change) => (await state()).update(change),
    delete: async () => (await state()).delete(),
  };
}
