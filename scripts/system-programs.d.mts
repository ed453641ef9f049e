export function find(name: "chromium" | "dbus" | "keyring" | "redis"): string | undefined;
export function installMissing(): void;
