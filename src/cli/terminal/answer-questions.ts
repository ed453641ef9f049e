import type { ElicitForm, ElicitReply, ElicitUrl } from "../../client/elicitation.ts";
import type { QuestionHandlers } from "../../client/request-handlers.ts";
import type { CommandContext } from "../command.ts";
import { oneLine, printable } from "./printable.ts";
import { openQuestions, type Questions } from "./questions.ts";

/** Answers what a server asks by asking whoever sits at the terminal, one question after the other. */
export function answerQuestions(server: string, context: CommandContext): QuestionHandlers {
  let last: Promise<unknown> = Promise.resolve();
  /** Two questions at once would share the keys. */
  const inTurn = <T>(ask: (questions: Questions) => Promise<T>): Promise<T> => {
    const turn = last.then(async () => ask(await openQuestions(context)));
    last = turn.catch(() => {});
    return turn;
  };
  return {
    onElicit: (form) => inTurn((questions) => fillForm(server, form, questions)),
    onElicitUrl: (link) => inTurn((questions) => openPage(server, link, { questions, context })),
  };
}

async function fillForm(
  server: string,
  { message, requestedSchema }: ElicitForm,
  questions: Questions,
): Promise<ElicitReply> {
  const { askForm } = await import("./ask-form.ts");
  questions.note(`${oneLine(server)} asks: ${printable(message)}`);
  for (;;) {
    const content = await askForm(requestedSchema, questions);
    const next = await questions.choose("Send this?", sendChoices, "send");
    if (next === "send") return { action: "accept", content };
    if (next === "decline") return { action: "decline" };
  }
}

const sendChoices = [
  { value: "send", label: "Send" },
  { value: "again", label: "Fill in again" },
  { value: "decline", label: "Decline", hint: "the server gets no answer" },
] as const;

interface Asking {
  readonly questions: Questions;
  readonly context: CommandContext;
}

/** The whole URL is shown before anybody agrees to open it, and its host apart from what it may be hidden in. */
async function openPage(
  server: string,
  { message, url, host }: ElicitUrl,
  { questions, context }: Asking,
): Promise<ElicitReply> {
  questions.note(`${oneLine(server)} asks: ${printable(message)}`);
  questions.note(`It wants you to open a page of ${host}:\n  ${printable(url.href)}`);
  if (!(await questions.confirm(`Open the page of ${host}?`, false))) return { action: "decline" };
  const { openBrowser } = await import("../../auth/node/loopback.ts");
  if (!(await openBrowser(url))) context.say(`No browser could be started. Open the page yourself:\n  ${url.href}`);
  return { action: "accept" };
}
