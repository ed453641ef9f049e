import { type Answering, answerCall } from "../codec/answer.ts";
import type { LegacyServerCodec, WireCall } from "../codec/codec.ts";
import type { Exchange } from "../jsonrpc/inbound.ts";
import type { RpcPeer } from "../jsonrpc/peer.ts";
import type { Answer, Question } from "../model/input.ts";
import type { Params } from "../model/methods.ts";
import type { Ask, Call, Outcome, Service } from "../model/service.ts";
import type { Clock } from "../std/clock.ts";
import type { Gate } from "../std/gate.ts";
import { type Asker, createAsker } from "./asker.ts";
import { goOn } from "./go-on.ts";

/** What all calls of a session have in common. */
export interface LiveDesk {
  readonly service: Service;
  /** Reaches the client. */
  readonly peer: Pick<RpcPeer, "request">;
  readonly gate: Gate;
  readonly clock: Clock;
  readonly askTimeoutMs: number;
  /** Hears that nothing more happens about a call. */
  onOver(): void;
}

/** One call of a client that can be asked while it waits. Most calls ask nothing, and cost no more than that. */
export class LiveAnswering implements Answering {
  readonly codec: LegacyServerCodec;
  readonly ask: Ask;
  readonly #desk: LiveDesk;
  readonly #exchange: Exchange;
  readonly #wire: WireCall;
  #asker: Asker | undefined;

  constructor(desk: LiveDesk, codec: LegacyServerCodec, exchange: Exchange, wire: WireCall) {
    this.codec = codec;
    // A function that is written straight into a property, V8 takes for one that lives long, and all it knows with it.
    const ask: Ask = (question) => this.#ask(question);
    this.ask = ask;
    this.#desk = desk;
    this.#exchange = exchange;
    this.#wire = wire;
  }

  run(): Promise<void> {
    return answerCall(this.#exchange, this.#wire, this);
  }

  serve(call: Call): Promise<Outcome> {
    return this.#desk.service(call);
  }

  goOn(call: Call, asked: Outcome): Promise<Outcome> {
    const { service, clock } = this.#desk;
    return goOn(service, call, asked, { ask: this.ask, clock });
  }

  over(): void {
    this.#asker?.close();
    this.#desk.onOver();
  }

  #ask(question: Question): Promise<Answer> {
    const { peer, gate, askTimeoutMs } = this.#desk;
    const { codec } = this;
    const { row } = this.#wire;
    this.#asker ??= createAsker(
      { peer, codec, askTimeoutMs, taskId: awaitedTask(this.#wire), gate: row.runs === true ? gate : undefined },
      this.#exchange,
    );
    return this.#asker.ask(question);
  }
}

/** The task whose end a request waits for. */
function awaitedTask({ method, params }: WireCall): string | undefined {
  return method === "tasks/result" ? (params as Params<"tasks/result">).taskId : undefined;
}
