import { UsageError } from "../usage-error.ts";

/** The port that follows `--http`, 3000 where none does; undefined for stdio. */
export function readPort(text: string | undefined, isHttp: boolean): number | undefined {
  if (text === undefined) return isHttp ? 3000 : undefined;
  if (!isHttp) throw new UsageError(`${JSON.stringify(text)} is one argument too many`, "a port follows --http");
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new UsageError(`${JSON.stringify(text)} is not a port`, "give a number from 0 to 65535; 0 takes a free one");
}
