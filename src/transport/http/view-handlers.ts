import { type Service, type ServiceViews, viewsOf } from "../../protocol/service.ts";
import { quote } from "../../std/text.ts";
import { stepBelow } from "./admission.ts";
import { type HttpAnswer, type HttpHead, pathOf, refusal } from "./http-message.ts";

/** What serves one view. */
interface Closable {
  close(): Promise<void>;
}

/** What serves the views of a service, each below the path of the whole. */
export interface ViewHandlers<H> {
  /** The handlers of the view that a request is for, or the answer where there is none. Undefined for the whole. */
  find(head: HttpHead): H | HttpAnswer | undefined;
  close(): Promise<void>;
}

/** `path` is that of the whole. Undefined for a service without views. Handlers of a view are made with its first request, and closed when it is gone. */
export function createViewHandlers<H extends Closable>(
  service: Service,
  path: string | undefined,
  create: (view: Service) => H,
): ViewHandlers<H> | undefined {
  const views = viewsOf(service);
  if (views === undefined || path === undefined) return undefined;
  const base = path.endsWith("/") ? path : `${path}/`;
  const made = new Map<string, Made<H>>();

  const end = (name: string): void => {
    void made.get(name)?.handlers.close();
    made.delete(name);
  };

  return {
    find({ url }) {
      if (url === path) return undefined;
      const step = stepBelow(pathOf(url), base);
      if (step === undefined) return undefined;
      const name = decoded(step);
      if (name === undefined || !views.has(name)) {
        if (name !== undefined) end(name);
        return unknownView(name ?? step, views, base);
      }
      const view = views.get(name);
      const known = made.get(name);
      if (known?.view === view) return known.handlers;
      end(name);
      const handlers = create(view);
      made.set(name, { view, handlers });
      return handlers;
    },
    async close() {
      await Promise.all([...made.values()].map(({ handlers }) => handlers.close()));
    },
  };
}

interface Made<H> {
  readonly view: Service;
  readonly handlers: H;
}

function decoded(step: string): string | undefined {
  try {
    return decodeURIComponent(step);
  } catch {
    return undefined;
  }
}

const maxNames = 20;

function unknownView(name: string, views: ServiceViews, base: string): HttpAnswer {
  const names = views.names();
  const some = names.slice(0, maxNames).map((known) => base + encodeURIComponent(known));
  const known = some.length === 0 ? "none" : some.join(", ") + (names.length > maxNames ? ", …" : "");
  return refusal(
    404,
    `there is no view ${quote(name)}; the whole is served at ${base.slice(0, -1) || "/"}, views at: ${known}`,
  );
}
