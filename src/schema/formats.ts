/** Tells whether a text has a format. Formats that nobody knows only annotate. */
export type TestFormat = (format: string, text: string) => boolean;

let loaded: TestFormat | undefined;

/** The test if it is loaded. */
export function loadedFormats(): TestFormat | undefined {
  return loaded;
}

/** Loads the formats that are known, for the first schema that names one. */
export async function loadFormats(): Promise<void> {
  const { Format } = await import("typebox/format");
  loaded = Format.Test;
}
