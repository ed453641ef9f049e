export function find(name: "chromium" | "redis"): string | undefined;
export function installMissing(): void;
