export interface Secret {
  readonly kind: string;
  readonly text: string;
}
export const folder: string;
export function recordedIn(place: string): readonly Secret[];
export function findLeaks(secrets: readonly Secret[], logs: Readonly<Record<string, string>>): readonly string[];
