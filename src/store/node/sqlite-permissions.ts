import { realpath, stat } from "node:fs/promises";
import { dirname } from "node:path";

/** What may be wrong with a store that works. */
export interface StoreWarning {
  /** `writable-by-others`: other users of this machine may change what is kept, or put another file in its place. */
  readonly kind: "writable-by-others";
  /** Names the file or folder, and what to do. */
  readonly message: string;
}

/** Write permission of the group, and of others. */
const [GROUP, OTHERS] = [0o020, 0o002];
/** In a folder with this bit a file can be replaced by its owner only. */
const STICKY = 0o1000;

/** What others may do to a file, or to the folder it is in. Windows has no such permissions to look at. */
export async function findWriters(path: string): Promise<readonly StoreWarning[]> {
  if (process.platform === "win32") return [];
  const file = await realpath(path);
  const folder = dirname(file);
  const [{ mode }, { mode: folderMode }] = await Promise.all([stat(file), stat(folder)]);
  const own = writersIn(mode);
  const around = (folderMode & STICKY) === 0 ? writersIn(folderMode) : undefined;
  return [
    ...(own === undefined ? [] : [warning(`the file ${file} can be written by ${own}`, `chmod 600 ${file}`)]),
    ...(around === undefined
      ? []
      : [
          warning(`the folder ${folder} can be written by ${around}, who may replace the file`, `chmod go-w ${folder}`),
        ]),
  ];
}

function writersIn(mode: number): string | undefined {
  if ((mode & OTHERS) !== 0) return "everybody on this machine";
  return (mode & GROUP) === 0 ? undefined : "its group";
}

function warning(problem: string, remedy: string): StoreWarning {
  return { kind: "writable-by-others", message: `sqlite: ${problem}; to keep it to its owner: ${remedy}` };
}
