/** One entry of `exports` in package.json, or what it has under a condition. */
export type Exports = string | { readonly [condition: string]: Exports };

export declare function sourceOf(file: string): string;
export declare function sourcesOf(entry: Exports): readonly string[];
export declare function readExports(): Readonly<Record<string, Exports>>;
