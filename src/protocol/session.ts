import type { JsonObject } from "../json/json.ts";
import { type ClientInfo, session } from "./peer.ts";
import type { CallOrigin, Service } from "./service.ts";
import type { State } from "./state.ts";

/** Hooks of a server for the begin and the end of sessions. */
export interface SessionHooks {
  /** Resolves when calls of the session may come. Never rejects. */
  begin(client: CallOrigin): Promise<void>;
  /** Called by every process that finds a session ended. Never rejects. */
  end(id: string): Promise<void>;
  /** The state of a session. */
  stateOf(id: string): State<JsonObject>;
}

/** A service with session hooks. Their code is loaded with the first session. */
interface KnowsSessions {
  readonly sessions?: (() => Promise<SessionHooks>) | undefined;
  /** True when list changes may differ between sessions. Otherwise sessions of one principal share a subscription. */
  readonly changesBySession?: boolean | undefined;
}

/** Reports the begin of a session to a service. */
export async function beginSession({ sessions }: Service & KnowsSessions, client: CallOrigin): Promise<void> {
  await (await sessions?.())?.begin(client);
}

/** Reports the end of a session to a service. Never rejects. */
export async function endSession({ sessions }: Service & KnowsSessions, id: string): Promise<void> {
  try {
    await (await sessions?.())?.end(id);
  } catch (error) {
    console.error("plugbay: the end of a session was not told:", error);
  }
}

/** A client with its session, as handlers see it. Unchanged for a service without session state. */
export function withSession({ sessions }: Service & KnowsSessions, client: ClientInfo, id: string): ClientInfo {
  return sessions === undefined ? client : { ...client, [session]: { id, state: createSessionState(sessions, id) } };
}

/** The client of a session as a listener for changes. Undefined where all sessions receive the same changes. */
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
