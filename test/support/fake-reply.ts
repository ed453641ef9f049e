import { createLedger } from "../../src/protocol/budget.ts";
import { createFairGate, type HttpCaller } from "../../src/transport/http/fair-gate.ts";
import type {
  EventSink,
  GoneListener,
  HttpHead,
  HttpHeaders,
  HttpReply,
} from "../../src/transport/http/http-message.ts";
import { RequestHold } from "../../src/transport/http/request-hold.ts";

/** A stream whose client reads when the test says so. */
export interface FakeSink extends EventSink {
  /** Everything that was written, in order. */
  readonly written: readonly string[];
  readonly text: string;
  readonly state: "open" | "ended" | "destroyed";
  /** From now on the client reads nothing. */
  stall(): void;
  /** The client reads what it has left, and goes on reading. */
  catchUp(): void;
}

export function createFakeSink(destroyed: () => void = () => {}, ended: () => void = () => {}): FakeSink {
  const written: string[] = [];
  let state: FakeSink["state"] = "open";
  let backlog = 0;
  let stalled = false;
  let room: { readonly wait: Promise<void>; readonly release: () => void } | undefined;

  const release = (): void => {
    room?.release();
    room = undefined;
  };

  return {
    written,
    get text() {
      return written.join("");
    },
    get state() {
      return state;
    },
    get backlog() {
      return backlog;
    },
    write(text) {
      if (state !== "open") return undefined;
      written.push(text);
      if (!stalled) return undefined;
      backlog += text.length;
      room ??= createRoom();
      return room.wait;
    },
    end(text) {
      if (state !== "open") return;
      if (text !== undefined) written.push(text);
      state = "ended";
      release();
      ended();
    },
    destroy() {
      state = "destroyed";
      release();
      destroyed();
    },
    stall() {
      stalled = true;
    },
    catchUp() {
      stalled = false;
      backlog = 0;
      release();
    },
  };
}

function createRoom(): { readonly wait: Promise<void>; readonly release: () => void } {
  let release = (): void => {};
  const wait = new Promise<void>((resolve) => {
    release = resolve;
  });
  return { wait, release };
}

/** An answer that nobody reads but the test. */
export interface FakeReply extends HttpReply {
  /** What was sent whole. */
  readonly sent: { readonly status: number; readonly headers: HttpHeaders; readonly body: string } | undefined;
  /** What was opened. */
  readonly sink: FakeSink | undefined;
  /** The head that the stream was opened with. */
  readonly head: HttpHeaders | undefined;
  /** Resolves when the answer has begun. */
  readonly begun: Promise<void>;
  /** The client goes away. */
  leave(): void;
  /** The platform ends the request with all it began. */
  lose(): void;
}

/** A caller that may do anything. */
export function freeCaller(): HttpCaller {
  return createFairGate().caller(createLedger({}, undefined, "a test").connection("somebody"));
}

/** Refuses to be answered twice, as no platform would have it. */
export function createFakeReply(caller: HttpCaller = freeCaller()): FakeReply {
  const held = new RequestHold(caller.share);
  let isHeld = true;
  const letGo = (): void => {
    if (isHeld) held.release();
    isHeld = false;
  };
  const listeners: GoneListener[] = [];
  const lostListeners: (() => void)[] = [];
  const begin = createRoom();
  let sent: FakeReply["sent"];
  let sink: FakeSink | undefined;
  let head: HttpHeaders | undefined;
  let gone = false;

  const claim = (): void => {
    if (sent !== undefined || sink !== undefined) throw new Error("answered twice");
    begin.release();
  };
  const leave = (): void => {
    if (gone || sent !== undefined || sink?.state === "ended") return;
    gone = true;
    letGo();
    for (const listener of listeners) listener.gone();
  };

  return {
    caller,
    held,
    begun: begin.wait,
    get sent() {
      return sent;
    },
    get sink() {
      return sink;
    },
    get head() {
      return head;
    },
    send(status, headers, body) {
      claim();
      sent = { status, headers, body };
      letGo();
    },
    open(headers) {
      claim();
      head = headers;
      sink = createFakeSink(leave, letGo);
      return sink;
    },
    onGone(listener) {
      if (gone) listener.gone();
      else listeners.push(listener);
    },
    onLost: (listener) => void lostListeners.push(listener),
    leave,
    lose() {
      leave();
      for (const listener of lostListeners) listener();
    },
  };
}

/** The head of a request that was admitted. */
export function fakeHead(headers: Readonly<Record<string, string>> = {}, method = "POST", url = "/mcp"): HttpHead {
  return { method, url, header: (name) => headers[name] };
}
