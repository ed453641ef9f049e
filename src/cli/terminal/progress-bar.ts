import type { Progress } from "../../client/call-options.ts";
import type { LiveLine } from "./live-line.ts";
import { oneLine } from "./printable.ts";
import type { Style } from "./style.ts";

/** How a call gets on, as a line that changes. */
export interface ProgressBar {
  /** Hears of progress. Undefined where no line can change: then the server need not tell any. */
  readonly onProgress: ((progress: Progress) => void) | undefined;
  /** Takes the line away for good. */
  end(): void;
}

/** Shows a bar where the end is known, else a spinner, with the time that has passed and what the server says. */
export function startProgress(
  name: string,
  live: LiveLine,
  style: Style,
  now: () => number = () => performance.now(),
): ProgressBar {
  if (!live.isLive) return { onProgress: undefined, end() {} };
  const startedAt = now();
  let last: Progress | undefined;
  let turns = 0;
  const show = (): void => {
    live.show(formatProgress({ name, progress: last, ms: now() - startedAt, turns, columns: live.columns }, style));
  };
  const timer = setInterval(() => {
    turns++;
    show();
  }, 100);
  // A call that is over keeps nothing alive.
  timer.unref();
  return {
    onProgress(progress) {
      last = progress;
      show();
    },
    end() {
      clearInterval(timer);
      live.clear();
    },
  };
}

interface ProgressFacts {
  readonly name: string;
  readonly progress: Progress | undefined;
  readonly ms: number;
  readonly turns: number;
  readonly columns: number;
}

/** `search ▕███████▏      ▏ 47 % 12.3 s · indexing`, never wider than the terminal. */
export function formatProgress({ name, progress, ms, turns, columns }: ProgressFacts, style: Style): string {
  const time = `${(ms / 1000).toFixed(1)} s`;
  const { progress: done = 0, total, message } = progress ?? {};
  const share = total !== undefined && total > 0 ? Math.min(1, Math.max(0, done / total)) : undefined;
  const count = share === undefined && progress !== undefined ? `${done} ` : "";
  const state =
    share === undefined ? `${spinner[turns % spinner.length]} ${count}` : `${bar(share)} ${percent(share)} `;
  const head = `${oneLine(name, 30)} ${state}${time}`;
  const room = columns - head.length - 4;
  const said = message === undefined || room < 8 ? "" : ` · ${oneLine(message, room)}`;
  return `${style.cyan(head)}${style.dim(said)}`;
}

const spinner = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const width = 20;

function bar(share: number): string {
  const full = Math.floor(share * width);
  return `▕${"█".repeat(full)}${" ".repeat(width - full)}▏`;
}

function percent(share: number): string {
  return `${String(Math.floor(share * 100)).padStart(3)} %`;
}
