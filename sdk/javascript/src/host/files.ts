/// <reference path="./imports.d.ts" />

/** Files by `wasi:filesystem`: a path is looked up below the granted folder that is nearest to it. */

import preopens from "wasi:filesystem/preopens@0.2.12";

import type { Entry } from "../files.ts";
import { Failure } from "../failure.ts";

const CHUNK_BYTES = 256 * 1024;
const FOLLOW = { symlinkFollow: true };

export function read(path: string, maxBytes: number): Uint8Array {
  const file = open(path, {}, { read: true });
  try {
    const parts: Uint8Array[] = [];
    for (let length = 0; ; ) {
      const [bytes, end] = file.read(CHUNK_BYTES, length);
      const part = Uint8Array.from(bytes);
      length += part.length;
      if (length > maxBytes) throw new Failure("too-large", `${path}: longer than ${maxBytes} bytes`);
      parts.push(part);
      if (end || part.length === 0) return joined(parts, length);
    }
  } finally {
    file[Symbol.dispose]();
  }
}

export function write(path: string, bytes: Uint8Array): void {
  const file = open(path, { create: true, truncate: true }, { write: true });
  try {
    for (let at = 0; at < bytes.length; ) at += Number(file.write(bytes.subarray(at, at + CHUNK_BYTES), at));
  } finally {
    file[Symbol.dispose]();
  }
}

export function list(path: string): Entry[] {
  const folder = open(path, { directory: true }, { read: true });
  try {
    const stream = folder.readDirectory();
    const entries: Entry[] = [];
    for (let entry = stream.readDirectoryEntry(); entry; entry = stream.readDirectoryEntry()) {
      const kind = entry.type === "regular-file" ? "file" : entry.type === "directory" ? "folder" : "other";
      entries.push({ name: entry.name, kind });
    }
    stream[Symbol.dispose]();
    return entries;
  } finally {
    folder[Symbol.dispose]();
  }
}

export function remove(path: string): void {
  const [folder, below] = place(path);
  folder.unlinkFileAt(below);
}

export function makeFolder(path: string): void {
  const [folder, below] = place(path);
  folder.createDirectoryAt(below);
}

function open(path: string, how: object, rights: object): any {
  const [folder, below] = place(path);
  return folder.openAt(FOLLOW, below, { create: false, directory: false, exclusive: false, truncate: false, ...how }, {
    read: false,
    write: false,
    fileIntegritySync: false,
    dataIntegritySync: false,
    requestedWriteSync: false,
    mutateDirectory: false,
    ...rights,
  });
}

/** The granted folder with the longest name that holds `path`, and the rest of the path. */
function place(path: string): [any, string] {
  let best: [any, string] | null = null;
  let length = -1;
  for (const [folder, name] of preopens.getDirectories()) {
    const stem = name.replace(/\/+$/, "");
    if ((path === stem || path.startsWith(`${stem}/`)) && stem.length > length) {
      best = [folder, path.slice(stem.length).replace(/^\/+/, "") || "."];
      length = stem.length;
    }
  }
  if (!best) throw new Failure("denied", `${path}: not permitted`);
  return best;
}

function joined(parts: Uint8Array[], length: number): Uint8Array {
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
