/** Whether a path says where it begins: `/a`, `C:\a`, `\\host\a`. */
export function isAbsolute(path: string): boolean {
  return /^(?:[\\/]|[A-Za-z]:[\\/])/.test(path);
}

/** A path as seen from a folder. */
export function joinPath(folder: string, path: string): string {
  if (isAbsolute(path) || folder === "") return path;
  const separator = folder.includes("\\") && !folder.includes("/") ? "\\" : "/";
  return `${folder.replace(/[\\/]$/, "")}${separator}${path.replace(/^\.[\\/]/, "")}`;
}

/** The folder a file is in; empty where the path has none. */
export function folderOf(path: string): string {
  const end = Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\"));
  return end === 0 ? path.slice(0, 1) : path.slice(0, Math.max(end, 0));
}

/** The last name of a path. */
export function baseName(path: string): string {
  const trimmed = path.replace(/[\\/]+$/, "");
  return trimmed.slice(Math.max(trimmed.lastIndexOf("/"), trimmed.lastIndexOf("\\")) + 1);
}

/**
 * The folder that a project's configuration is for: the one the file is in, or
 * around a folder of settings such as `.vscode`.
 */
export function projectFolder(path: string): string {
  return folderOf(path).replace(settingsFolders, "");
}

const settingsFolders = /(?:^|[\\/])\.(?:vscode|cursor|gemini|codex|idea|zed|github|kiro[\\/]settings|junie[\\/]mcp)$/;
