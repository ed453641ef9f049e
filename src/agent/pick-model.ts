import type { ModelPreferences } from "../protocol/input.ts";

/** A model that a host can use. The figures are from 0 to 1, relative to each other; what is absent counts as 0.5. */
export interface ModelChoice {
  readonly name: string;
  /** 1 is the most expensive model. */
  readonly cost?: number | undefined;
  /** 1 is the fastest model. */
  readonly speed?: number | undefined;
  /** 1 is the most capable model. */
  readonly intelligence?: number | undefined;
  /** Other names that model hints may use, such as a family. */
  readonly aliases?: readonly string[] | undefined;
}

/**
 * The model that suits a server best.
 *
 * Hints come first, in their order: each is a part of a name, and the first that
 * fits any model narrows the choice. Among those left the priorities decide, and
 * where they do not, the order of the models.
 */
export function pickModel<T extends ModelChoice>(
  models: readonly T[],
  preferences: ModelPreferences = {},
): T | undefined {
  const candidates = hinted(models, preferences) ?? models;
  let best: { readonly model: T; readonly score: number } | undefined;
  for (const model of candidates) {
    const score = scoreOf(model, preferences);
    if (best === undefined || score > best.score) best = { model, score };
  }
  return best?.model;
}

function hinted<T extends ModelChoice>(
  models: readonly T[],
  { hints = [] }: ModelPreferences,
): readonly T[] | undefined {
  for (const { name } of hints) {
    if (name === undefined || name === "") continue;
    const part = name.toLowerCase();
    const fitting = models.filter((model) =>
      [model.name, ...(model.aliases ?? [])].some((known) => known.toLowerCase().includes(part)),
    );
    if (fitting.length > 0) return fitting;
  }
  return undefined;
}

function scoreOf(
  { cost = 0.5, speed = 0.5, intelligence = 0.5 }: ModelChoice,
  { costPriority = 0, speedPriority = 0, intelligencePriority = 0 }: ModelPreferences,
): number {
  return costPriority * (1 - cost) + speedPriority * speed + intelligencePriority * intelligence;
}
