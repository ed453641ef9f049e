import { describe, expectTypeOf, it } from "vitest";
import type { Method, Params, Result } from "./methods.ts";
import {
  type Call,
  type CallOf,
  type Middleware,
  type Outcome,
  type Service,
  withCall,
  withMiddleware,
} from "./service.ts";
import type { CallToolResult } from "./tool.ts";

declare const service: Service;

describe("a call", () => {
  it("is narrowed by its method (T3)", () => {
    const look = (call: Call): string => {
      // @ts-expect-error most methods have no name
      call.params.name;
      if (call.method === "tools/call") {
        expectTypeOf(call).toEqualTypeOf<Call<"tools/call">>();
        return call.params.name;
      }
      if (call.method === "resources/read") return call.params.uri;
      expectTypeOf(call.method).toEqualTypeOf<Exclude<Method, "tools/call" | "resources/read">>();
      return "";
    };
    expectTypeOf(look).returns.toEqualTypeOf<string>();
  });

  it("is narrowed by a switch over its method (T3)", () => {
    const nameOf = (call: Call): string | undefined => {
      switch (call.method) {
        case "tools/call":
        case "prompts/get":
          return call.params.name;
        case "completion/complete":
          return call.params.argument.name;
        default:
          return undefined;
      }
    };
    expectTypeOf(nameOf).returns.toEqualTypeOf<string | undefined>();
  });

  it("of one method is what it was", () => {
    expectTypeOf<Call<"tools/call">>().toEqualTypeOf<CallOf<"tools/call">>();
    expectTypeOf<Call>().toExtend<CallOf>();
    expectTypeOf<CallOf["params"]>().toEqualTypeOf<Params<Method>>();
  });
});

describe("an outcome", () => {
  it("has the result of the method that was called (T3)", () => {
    const middleware: Middleware = (next) => async (call) => {
      if (call.method !== "tools/call") return next(call);
      const outcome = await next(call);
      expectTypeOf(outcome).toEqualTypeOf<Outcome<"tools/call">>();
      if (outcome.kind !== "complete") return outcome;
      expectTypeOf(outcome.result).toEqualTypeOf<CallToolResult>();
      return { kind: "complete", result: { ...outcome.result, content: [{ type: "text", text: "changed" }] } };
    };
    expectTypeOf(withMiddleware(service, middleware)).toEqualTypeOf<Service>();
  });

  it("of one of two methods is one of both (T3)", () => {
    const both = async (
      call: Call<"tools/call" | "tools/list">,
    ): Promise<Result<"tools/call" | "tools/list"> | undefined> => {
      const outcome = await service(call);
      return outcome.kind === "complete" ? outcome.result : undefined;
    };
    expectTypeOf(both).parameter(0).toExtend<Call>();
  });
});

describe("middleware", () => {
  it("passes on a changed call", () => {
    const middleware: Middleware = (next) => (call) => next(withCall(call, { meta: {} }));
    const named: Middleware = (next) => (call) =>
      call.method === "tools/call" ? next(withCall(call, { params: { ...call.params, name: "other" } })) : next(call);
    expectTypeOf(withMiddleware(service, middleware, named)).toEqualTypeOf<Service>();
  });

  it("may be a service that was written for every method", () => {
    const through: Middleware = (next) => next;
    expectTypeOf(through).returns.toExtend<(call: Call) => Promise<Outcome>>();
  });

  it("answers with an outcome", () => {
    // @ts-expect-error a result is no outcome
    const bad: Middleware = () => async () => ({ content: [] });
    expectTypeOf(bad).toEqualTypeOf<Middleware>();
  });
});
