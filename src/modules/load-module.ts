import { stat } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { McpError } from "../protocol/errors.ts";

/** What a module exports, and what to call it. */
export interface LoadedModule {
  readonly exports: Readonly<Record<string, unknown>>;
  readonly name: string;
  /** For messages. */
  readonly place: string;
}

/** Loads a module by its path or URL. A file that has changed is loaded again. Throws `invalid-definition`. */
export async function loadModule(source: string | URL | object): Promise<LoadedModule> {
  if (typeof source !== "string" && !(source instanceof URL)) {
    return { exports: { ...source }, name: "module", place: "that was given" };
  }
  const text = String(source);
  if (/^(?!file:)[a-z][a-z0-9+.-]+:/i.test(text) && !/^[a-z]:[\\/]/i.test(text)) {
    throw new McpError(
      "invalid-definition",
      `the module ${text.slice(0, 100)} is not a file: give a path or a file: URL`,
    );
  }
  const path = text.startsWith("file:") ? fileURLToPath(text) : resolve(text);
  const stats = await stat(path).catch(() => undefined);
  if (stats?.isFile() !== true)
    throw new McpError("invalid-definition", `the module ${path} is not there, or is not a file`);
  const url = `${pathToFileURL(path).href}?changed=${stats.mtimeMs}`;
  const exports = await loaderFor(path)
    .then((load) => load(url))
    .catch((cause: unknown) => fail(path, cause));
  return { exports, name: basename(path).replace(/\..*$/, "") || "module", place: path };
}

type Load = (url: string) => Promise<Readonly<Record<string, unknown>>>;

/** Imports JavaScript, and TypeScript where Node can; else by the `tsx` that is installed where the module is. */
async function loaderFor(path: string): Promise<Load> {
  const { typescript } = process.features as { readonly typescript?: string | false };
  if (!/\.[cm]?ts$/.test(path) || typeof typescript === "string") return (url) => import(url);
  const { tsImport } = (await importFrom(path, "tsx/esm/api")) as {
    readonly tsImport: (url: string, parent: string) => ReturnType<Load>;
  };
  return (url) => tsImport(url, pathToFileURL(path).href);
}

async function importFrom(path: string, name: string): Promise<unknown> {
  try {
    return await import(pathToFileURL(createRequire(path).resolve(name)).href);
  } catch {
    const hint = "use Node 22.18 or newer, or install tsx in the folder of the module";
    throw new McpError(
      "invalid-definition",
      `this Node (${process.version}) cannot load ${path}: it knows no TypeScript; ${hint}`,
    );
  }
}

function fail(path: string, cause: unknown): never {
  if (cause instanceof McpError) throw cause;
  const message = cause instanceof Error ? cause.message : String(cause);
  throw new McpError("invalid-definition", `the module ${path} cannot be loaded: ${message}`, { cause });
}
