/** Files, as far as the operator granted them. Paths are absolute, such as `/build/a.tmp`. */

import { Failure, type Kind } from "./failure.ts";
import * as host from "./host/files.ts";

export interface Entry {
  name: string;
  kind: "file" | "folder" | "other";
}

/** The most bytes of a file that are read, unless a call says otherwise. */
export const FILE_BYTES_MAX = 16 * 1024 * 1024;

export function readText(path: string, maxBytes = FILE_BYTES_MAX): string {
  return new TextDecoder().decode(read(path, maxBytes));
}

export function read(path: string, maxBytes = FILE_BYTES_MAX): Uint8Array {
  return named(path, () => host.read(path, maxBytes));
}

/** Makes the file, or replaces what it holds. */
export function write(path: string, content: string | Uint8Array): void {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  named(path, () => host.write(path, bytes));
}

/** The entries of a folder, by name. */
export function list(path: string): Entry[] {
  const entries = named(path, () => host.list(path));
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
}

export function remove(path: string): void {
  named(path, () => host.remove(path));
}

export function makeFolder(path: string): void {
  named(path, () => host.makeFolder(path));
}

/** Error codes of WASI, and of the systems that tests run on. */
const KINDS: Record<string, [Kind, string]> = {
  "no-entry": ["not-found", "no such file or folder"],
  ENOENT: ["not-found", "no such file or folder"],
  access: ["denied", "not permitted"],
  "not-permitted": ["denied", "not permitted"],
  "read-only": ["denied", "read-only"],
  EACCES: ["denied", "not permitted"],
  EPERM: ["denied", "not permitted"],
  exist: ["conflict", "exists already"],
  EEXIST: ["conflict", "exists already"],
  "not-empty": ["conflict", "not empty"],
  ENOTEMPTY: ["conflict", "not empty"],
  "not-directory": ["invalid-input", "not a folder"],
  ENOTDIR: ["invalid-input", "not a folder"],
  "is-directory": ["invalid-input", "a folder"],
  EISDIR: ["invalid-input", "a folder"],
  quota: ["too-large", "no more room"],
  "insufficient-space": ["too-large", "no more room"],
};

function named<T>(path: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    if (error instanceof Failure) throw error;
    const code = typeof error === "string" ? error : ((error as { code?: unknown; payload?: unknown })?.code ?? (error as { payload?: unknown })?.payload);
    const [kind, words] = KINDS[String(code)] ?? ["failed", typeof code === "string" ? code : String(error)];
    throw new Failure(kind, `${path}: ${words}`);
  }
}
