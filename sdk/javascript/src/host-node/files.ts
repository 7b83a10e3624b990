import * as fs from "node:fs";

import type { Entry } from "../files.ts";
import { Failure } from "../failure.ts";

export function read(path: string, maxBytes: number): Uint8Array {
  const bytes = fs.readFileSync(path);
  if (bytes.length > maxBytes) throw new Failure("too-large", `${path}: longer than ${maxBytes} bytes`);
  return bytes;
}

export function write(path: string, bytes: Uint8Array): void {
  fs.writeFileSync(path, bytes);
}

export function list(path: string): Entry[] {
  const entries = fs.readdirSync(path, { withFileTypes: true });
  return entries.map((entry) => ({ name: entry.name, kind: entry.isFile() ? "file" : entry.isDirectory() ? "folder" : "other" }));
}

export function remove(path: string): void {
  fs.unlinkSync(path);
}

export function makeFolder(path: string): void {
  fs.mkdirSync(path);
}
