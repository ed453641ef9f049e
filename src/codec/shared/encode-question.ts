import { asJson, type JsonObject } from "../../json/json.ts";
import type { Question, QuestionMethod } from "../../model/input.ts";
import type { Decoded } from "../codec.ts";
import { type Change, inEach, inMember, inOrder, ofType, same, without } from "./change.ts";
import { type Attempt, always, type Dialect } from "./dialect.ts";
import { blockChange, toolResultChange } from "./encode-result.ts";
import { ownMeta } from "./meta.ts";

/** How a dialect puts the params of a question. Fails when the client cannot be asked that at all. */
export function createQuestionWriter(dialect: Dialect): (question: Question) => Decoded<JsonObject> {
  const attempts = questionAttempts(dialect);
  return ({ method, params }) => attempts[method](dropHop(asJson(params)));
}

function questionAttempts(dialect: Dialect): { readonly [Q in QuestionMethod]: Attempt } {
  const sampled = inOrder(inEach("tools", dialect.tool), inEach("messages", messageChange(dialect)));
  return {
    "elicitation/create": dialect.elicitation,
    "sampling/createMessage": (params) => {
      const said = dialect.sampling(params);
      return said.ok ? { ok: true, value: sampled(said.value) } : said;
    },
    "roots/list": always(same),
  };
}

/** What belonged to the request that a passed-on question came with. */
const dropHop: Change = inOrder(without("task"), inMember("_meta", ownMeta));

/** How a dialect says the answer to a question. Answers are bare: they never say how a call ended. */
export function createAnswerWriter(dialect: Dialect): (method: QuestionMethod, answer: JsonObject) => JsonObject {
  const changes = answerChanges(dialect);
  return (method, answer) => changes[method](bare(answer));
}

const bare = without("resultType");

function answerChanges(dialect: Dialect): { readonly [Q in QuestionMethod]: Change } {
  return {
    "elicitation/create": (answer) => (answer.action === "accept" ? answer : withoutContent(answer)),
    "sampling/createMessage": inOrder(dialect.sampled, messageChange(dialect)),
    "roots/list": inEach("roots", dialect.root),
  };
}

const withoutContent = without("content");

/** How a dialect says a sampling message, whose content is one block or an array of them. */
function messageChange(dialect: Dialect): Change {
  const block = inOrder(blockChange(dialect), ofType("tool_result", toolResultChange(dialect)));
  return inOrder(inMember("content", block), inEach("content", block));
}
