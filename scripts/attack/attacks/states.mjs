import { upTo } from "../bounded.mjs";
import { answersTo, describe, textOf } from "../messages.mjs";
import { gotThrough, held, judge, notApplicable } from "../verdicts.mjs";

// States that a server of 2026-07-28 gives to its clients, brought back by somebody else, changed, or more than once.

const needs = ["modern", "ask"];

export const stateAttacks = [
  {
    id: "changed-state",
    covers: ["V7"],
    title: "brings back a state that was changed",
    needs,
    async run({ first, uses }) {
      const asked = await ask(first, uses.ask);
      if (asked === undefined) return noQuestion(uses);
      const { state } = asked;
      const middle = Math.floor(state.length / 2);
      const other = state[middle] === "A" ? "B" : "A";
      const changed = {
        "one character": state.slice(0, middle) + other + state.slice(middle + 1),
        "its end cut off": state.slice(0, -8),
        "something added": `${state}AAAA`,
        "a made-up state": Buffer.from(JSON.stringify({ step: "done" })).toString("base64url"),
        "an empty state": "",
        "a huge state": "A".repeat(500_000),
      };
      const problems = [];
      for (const [what, text] of Object.entries(changed)) {
        const answer = await bring(first, uses.ask, { ...asked, state: text });
        if (isDone(answer)) problems.push(`with ${what} the call was completed`);
      }
      const args = Object.fromEntries(
        Object.entries(uses.ask.args).map(([name, value]) => [
          name,
          typeof value === "string" ? `${value}-other` : value,
        ]),
      );
      if (Object.values(uses.ask.args).some((value) => typeof value === "string")) {
        const answer = await bring(first, { ...uses.ask, args }, asked);
        if (isDone(answer)) problems.push("with other arguments the call was completed");
      }
      const answer = await bring(first, uses.ask, asked);
      if (!isDone(answer)) problems.push(`then the state itself was refused: ${describe(answer)}`);
      return judge(problems, "6 changes and other arguments were refused, and the state itself was taken");
    },
  },
  {
    id: "foreign-state",
    covers: ["V7", "S7"],
    title: "brings back a state of another principal",
    needs: [...needs, "second"],
    async run({ first, second, uses }) {
      const asked = await ask(second, uses.ask);
      if (asked === undefined) return noQuestion(uses);
      const stolen = await bring(first, uses.ask, asked);
      if (isDone(stolen)) return gotThrough("the call of the second principal was completed by the first");
      const own = await bring(second, uses.ask, asked);
      return isDone(own)
        ? held(`the state was refused (${describe(stolen)}), and taken from its owner`)
        : gotThrough(`its owner could not use it any more: ${describe(own)}`);
    },
  },
  {
    id: "replayed-state",
    covers: ["S8", "V7"],
    title: "brings back one state again and again, without and with answers",
    needs,
    async run({ first, uses }) {
      const asked = await ask(first, uses.ask);
      if (asked === undefined) return noQuestion(uses);
      const states = [asked];
      for (let n = 0; n < 5; n++) {
        const again = await bring(first, uses.ask, { ...asked, answers: undefined });
        if (again.result?.requestState !== undefined) states.push(askedOf(again));
      }
      const answers = await Promise.all([...states, asked].map((one) => bring(first, uses.ask, one)));
      answers.push(await bring(first, uses.ask, asked));
      const done = answers.filter(isDone);
      const effects = Math.max(0, ...done.map(({ result }) => numberIn(result, "effects") ?? 0));
      const evidence = `${states.length} states of one call, ${done.length} of ${answers.length} returns completed`;
      if (effects === 0 && done.length > 1)
        return notApplicable(`${evidence}; ${uses.ask.name} does not tell its effects`);
      return effects > 1
        ? gotThrough(`${evidence}, and the effect was done ${effects} times`)
        : held(`${evidence}, the effect was done once`);
    },
  },
  {
    id: "foreign-audience",
    covers: ["S11"],
    title: "brings a state of one server to another that has the same keys",
    needs: [...needs, "second-url"],
    async run({ first, elsewhere, uses }) {
      const asked = await ask(first, uses.ask);
      if (asked === undefined) return noQuestion(uses);
      const answer = await bring(elsewhere, uses.ask, asked);
      return isDone(answer)
        ? gotThrough("the other server completed the call")
        : held(`the other server: ${describe(answer)}`);
    },
  },
  {
    id: "many-waiting-calls",
    covers: ["S9"],
    title: "makes 1,100 calls that wait for an answer",
    needs: [...needs, "second"],
    async run({ first, second, uses }) {
      const asked = await ask(second, uses.ask);
      if (asked === undefined) return noQuestion(uses);
      let waiting = 0;
      await upTo(1_100, 16, 60_000, async (n) => {
        const args = Object.fromEntries(
          Object.entries(uses.ask.args).map(([name, value]) => [
            name,
            typeof value === "string" ? `${value}-${n}` : value,
          ]),
        );
        if ((await ask(first, { ...uses.ask, args })) !== undefined) waiting++;
      });
      const answer = await bring(second, uses.ask, asked);
      const evidence = `${waiting} calls of the first principal waited`;
      if (!isDone(answer)) return gotThrough(`${evidence}, and the second could not go on: ${describe(answer)}`);
      const runs = numberIn(answer.result, "runs");
      return runs !== undefined && runs > 1
        ? gotThrough(`${evidence}, and the handler of the second was ended and run again`)
        : held(`${evidence}, and the second went on`);
    },
  },
];

/** Begins a call that asks. Undefined when it does not ask, or gives no state. */
async function ask(principal, { name, args }) {
  const answer = await principal.modern("tools/call", { name, arguments: args });
  return answer.result?.requestState === undefined ? undefined : askedOf(answer);
}

function askedOf({ result }) {
  return { state: result.requestState, answers: answersTo(result.inputRequests) };
}

function bring(principal, { name, args }, { state, answers }) {
  const params = {
    name,
    arguments: args,
    requestState: state,
    ...(answers !== undefined && { inputResponses: answers }),
  };
  return principal.modern("tools/call", params);
}

/** Whether a call came to its end, and not to another question. */
function isDone({ kind, result }) {
  return (
    kind === "result" &&
    result.isError !== true &&
    result.requestState === undefined &&
    result.inputRequests === undefined
  );
}

/** A number that the result of a tool tells by this name. */
function numberIn(result, name) {
  const text = `${JSON.stringify(result?.structuredContent ?? {})} ${textOf(result)}`;
  const [, number] = new RegExp(`"?${name}"?[:=]\\s*(\\d+)`).exec(text) ?? [];
  return number === undefined ? undefined : Number(number);
}

function noQuestion({ ask: { name } }) {
  return notApplicable(`${name} asked nothing, or gave no state`);
}
