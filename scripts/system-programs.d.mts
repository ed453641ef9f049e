export function find(name: "chromium"): string | undefined;
export function installMissing(): void;
