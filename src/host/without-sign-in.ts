import type { Authorizer } from "../protocol/authorizer.ts";
import { type Failure, McpError, toFailure } from "../protocol/errors.ts";

/**
 * An authorizer that asks no user: a host has many servers, and none of them opens a page by itself. `onNeeded` hears that
 * a server takes no more calls until somebody has signed in.
 */
export function withoutSignIn(auth: Authorizer, onNeeded: (reason: Failure) => void): Authorizer {
  return {
    headers: (request) => auth.headers(request),
    async refused(request, answer) {
      try {
        return await auth.refused(request, answer, { interactive: false });
      } catch (error) {
        if (answer.status === 401 && isInteraction(error)) onNeeded(toFailure(error));
        throw error;
      }
    },
    answered: (request, answer) => auth.answered?.(request, answer),
  };
}

function isInteraction(error: unknown): error is McpError {
  if (!(error instanceof McpError) || error.code !== "unauthorized") return false;
  const { data } = error;
  return typeof data === "object" && data !== null && "reason" in data && data.reason === "interaction-required";
}
