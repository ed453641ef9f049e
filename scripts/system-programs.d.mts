export function find(
  name: "bash" | "chromium" | "dbus" | "fish" | "keyring" | "nginx" | "python" | "redis" | "tmux" | "zsh",
): string | undefined;
export function installMissing(): void;
