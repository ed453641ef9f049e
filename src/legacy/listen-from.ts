import type { JsonObject } from "../json/json.ts";
import type { Failure } from "../model/errors.ts";
import { changeKeys, metaOf } from "../model/meta.ts";
import type { Auth } from "../model/peer.ts";
import { newest } from "../model/revision.ts";
import { createCall, type Service } from "../model/service.ts";
import type { ListenFilter } from "../model/subscription.ts";
import { LazyAbort } from "../std/lazy-abort.ts";
import { settle } from "./feed.ts";

/** Something that changed, and where it stands among all changes. */
export interface News {
  readonly method: string;
  readonly params: JsonObject;
  /** Absent where the service does not count its changes. */
  readonly position: number | undefined;
  /** True when changes before it are known no longer. */
  readonly lost: boolean;
}

export interface ListenOptions {
  readonly service: Service;
  readonly filter: ListenFilter;
  /** On whose behalf. */
  readonly auth?: Auth | undefined;
  /** What followed this position is told first. From now on when left out. */
  readonly after?: number;
  tell(news: News): void;
  /** Hears that the service has ended it on its own. */
  ended?(): void;
}

export interface Listening {
  /** Resolves when the service listens, or with the reason why not. */
  readonly begun: Promise<Failure | undefined>;
  /** Nothing is told any more. */
  stop(): void;
}

/** Listens to a service that can say what followed a position. One that cannot tells what comes. */
export function listenFrom({ service, filter, auth, after, tell, ended }: ListenOptions): Listening {
  const abort = new LazyAbort();
  const begun = new Promise<Failure | undefined>((resolve) => {
    const call = createCall({
      method: "subscriptions/listen",
      params: { notifications: filter },
      peer: { revision: newest, capabilities: {}, ...(auth !== undefined && { auth }) },
      meta: after === undefined ? {} : { [changeKeys.after]: after },
      abort,
      notify(method, params) {
        if (abort.aborted) return undefined;
        if (method === "notifications/subscriptions/acknowledged") resolve(undefined);
        else tell(newsOf(method, params));
        return undefined;
      },
    });
    void settle(() => service(call)).then((failure) => {
      resolve(failure);
      if (!abort.aborted) ended?.();
    });
  });
  return { begun, stop: () => abort.abort("nobody listens any more") };
}

function newsOf(method: string, params: JsonObject): News {
  const { [changeKeys.position]: position, [changeKeys.lost]: lost } = metaOf(params);
  return { method, params, position: typeof position === "number" ? position : undefined, lost: lost === true };
}
