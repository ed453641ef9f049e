import type { LegacyServerCodec } from "../codec/codec.ts";
import { failureOf } from "../codec/send.ts";
import type { Exchange } from "../jsonrpc/inbound.ts";
import type { RpcPeer } from "../jsonrpc/peer.ts";
import { McpError, toError } from "../model/errors.ts";
import type { Answer, Question } from "../model/input.ts";
import { metaKeys, withMeta } from "../model/meta.ts";
import type { Ask } from "../model/service.ts";
import type { Gate } from "../std/gate.ts";
import { LazyAbort } from "../std/lazy-abort.ts";

/** Asks a client on behalf of one of its requests. */
export interface Asker {
  /** Rejects when the request is cancelled or over, when the client is gone, refuses or takes too long. */
  readonly ask: Ask;
  /** The request is over: takes back the questions that are still open. */
  close(): void;
}

export interface AskerOptions {
  readonly peer: Pick<RpcPeer, "request">;
  readonly codec: LegacyServerCodec;
  /** Where the request has a place that others can have while it waits. */
  readonly gate: Gate | undefined;
  /** How long a client may take to answer a question. */
  readonly askTimeoutMs: number;
  /** The task whose end the request waits for: what is asked meanwhile belongs to it. */
  readonly taskId?: string | undefined;
}

export function createAsker(options: AskerOptions, { abort, via }: Exchange): Asker {
  const { peer, codec, gate, askTimeoutMs, taskId } = options;
  const over = new LazyAbort();
  const place = createPlace(gate);
  let linked = false;

  /** A request that is cancelled is over, too. */
  const link = (): void => {
    if (linked) return;
    linked = true;
    abort.onAbort(() => over.abort(abort.reason));
  };

  const put = async (question: Question): Promise<Answer> => {
    const encoded = codec.encodeQuestion(question);
    if (!encoded.ok) throw toError(encoded.failure);
    const params = taskId === undefined ? encoded.value : withMeta(encoded.value, metaKeys.relatedTask, { taskId });
    const reply = await peer.request(question.method, () => params, {
      via,
      limits: { idleMs: askTimeoutMs, totalMs: 0 },
      onAbort: (listener) => over.onAbort(listener),
    });
    if (reply.kind === "success") return reply.result;
    throw toError(failureOf(reply, codec, question.method));
  };

  return {
    async ask(question) {
      link();
      if (over.aborted) throw new McpError("cancelled", `${question.method} was not asked: the call is over`);
      place.leave();
      try {
        return await put(question);
      } finally {
        place.comeBack();
      }
    },
    close: () => over.abort("the call is over"),
  };
}

interface Place {
  leave(): void;
  comeBack(): void;
}

/** One place at the gate, however many questions are asked at the same time. */
function createPlace(gate: Gate | undefined): Place {
  let questions = 0;
  let settle = (): void => {};

  return {
    leave() {
      if (questions++ > 0) return;
      const answered = new Promise<void>((resolve) => {
        settle = resolve;
      });
      void gate?.leave(answered);
    },
    comeBack() {
      if (--questions === 0) settle();
    },
  };
}
