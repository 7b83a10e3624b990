/// <reference path="./imports.d.ts" />

/** Values by `wasi:keyvalue`; the host knows which bucket is meant. */

import store from "wasi:keyvalue/store@0.2.0-draft";

import { Failure } from "../failure.ts";

export type Cursor = bigint | null;

export function get(key: string): Uint8Array | undefined {
  const value = withBucket((bucket) => bucket.get(key));
  return value == null ? undefined : Uint8Array.from(value);
}

export function set(key: string, value: Uint8Array): void {
  withBucket((bucket) => bucket.set(key, value));
}

export function remove(key: string): void {
  withBucket((bucket) => bucket.delete(key));
}

export function exists(key: string): boolean {
  return withBucket((bucket) => bucket.exists(key));
}

export function page(cursor: Cursor): { keys: string[]; cursor: Cursor } {
  const found = withBucket((bucket) => bucket.listKeys(cursor));
  return { keys: [...found.keys], cursor: found.cursor == null ? null : BigInt(found.cursor) };
}

function withBucket(use: (bucket: any) => any): any {
  try {
    const bucket = store.open("");
    try {
      return use(bucket);
    } finally {
      bucket[Symbol.dispose]?.();
    }
  } catch (error) {
    const refused = (error as { payload?: unknown })?.payload ?? error;
    const tag = typeof refused === "string" ? refused : (refused as { tag?: unknown })?.tag;
    if (tag === "other") throw new Failure("failed", String((refused as { val?: unknown }).val));
    if (tag === "access-denied" || tag === "no-such-store") throw new Failure("denied", "no grant allows this use of kept values");
    throw error;
  }
}
