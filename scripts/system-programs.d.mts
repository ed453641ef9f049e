export function find(name: "chromium" | "dbus" | "keyring" | "python" | "redis"): string | undefined;
export function installMissing(): void;
