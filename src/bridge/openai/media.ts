import type { JsonObject } from "../../json/json.ts";
import type { ToolResultContent } from "../../protocol/input.ts";
import type { Tool } from "../../protocol/tool.ts";
import type { NameRule } from "../alias.ts";
import type { ToolkitOptions } from "../bridge.ts";
import { type Lowering, plainLowering, strictLowering } from "../lower/lower.ts";
import { createOffers, type Offers } from "../offers.ts";
import type { MediaPart } from "../result-parts.ts";

/** A picture as a URL that holds it. Undefined for what is no picture that OpenAI takes. */
export function imageUrl({ kind, mimeType, data }: MediaPart): string | undefined {
  return kind === "image" && imageTypes.has(mimeType) ? `data:${mimeType};base64,${data}` : undefined;
}

const imageTypes: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

/** The format of a sound, if it is one that OpenAI takes. */
export function audioFormat({ kind, mimeType }: MediaPart): "wav" | "mp3" | undefined {
  return kind === "audio" ? audioFormats.get(mimeType) : undefined;
}

const audioFormats: ReadonlyMap<string, "wav" | "mp3"> = new Map([
  ["audio/wav", "wav"],
  ["audio/x-wav", "wav"],
  ["audio/wave", "wav"],
  ["audio/mpeg", "mp3"],
  ["audio/mp3", "mp3"],
]);

/** The text of a result. Neither API has another way to say that a call has failed. */
export function errorText(text: string, { isError }: ToolResultContent): string {
  return isError === true ? `Error: ${text}` : text;
}

/*
 * What both APIs of OpenAI ask for:
 *
 * names of tools        [a-zA-Z0-9_-]{1,64}, and at most 128 tools
 * parameters            an object at the root, without oneOf, anyOf, allOf, enum, not there; arrays with `items`
 * patterns              as Python reads them, without lookaround
 * strict                every property required, no others, null instead of absent;
 *                       types, enum, anyOf, $ref without anything beside it, some formats, limits of numbers and arrays;
 *                       not allOf, oneOf, not, if, dependent…, minLength, maxLength, uniqueItems, patternProperties, default
 */

export interface OpenAiOptions extends ToolkitOptions {
  /**
   * Requests strict mode of OpenAI. A tool whose schema strict mode cannot express is offered without it, and a note
   * says so. Default false.
   */
  readonly strict?: boolean | undefined;
}

/** OpenAI takes no more. */
const maxTools = 128;

const argumentNames: NameRule = { safe: /^[A-Za-z0-9_.-]{1,64}$/, unsafe: /[^A-Za-z0-9_.-]/g, maxLength: 64 };

const plain: Lowering<JsonObject> = plainLowering({ portablePatterns: true, itemsRequired: true }, argumentNames);

const strictly: Lowering<JsonObject> = strictLowering(plain, argumentNames);

/** The tools as both APIs take them. */
export function offersOf(tools: readonly Tool[], options: OpenAiOptions): Offers<JsonObject> {
  const { validate: _, strict = false, ...limits } = options;
  return createOffers(tools, {
    ...limits,
    maxTools: limits.maxTools ?? maxTools,
    lowering: strict ? strictly : plain,
  });
}
