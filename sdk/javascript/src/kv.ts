/**
 * Values that last from call to call, in the one bucket that the operator granted: of this chain, or of all of them.
 *
 * What cannot be kept or read is a `Failure`: `denied` without a grant, else `failed` with the host's words, such as what
 * the quota is. In tests values are kept in memory; `pausegate-sdk/testing` has them as `values`.
 */

import { Failure } from "./failure.ts";
import * as host from "./host/kv.ts";
import { wellFormed } from "./wellformed.ts";

/** How many keys `keys` hands out; of a bucket with more it fails. */
export const KEYS_MAX = 10_000;

/** The value under `key`, if there is one. */
export function get(key: string): Uint8Array | undefined {
  return host.get(wellFormed(key));
}

/** The value under `key` as text. */
export function getText(key: string): string | undefined {
  const value = get(key);
  return value && new TextDecoder().decode(value);
}

/** Keeps `value` under `key`, in the place of what was there. Text is kept as UTF-8. */
export function set(key: string, value: string | Uint8Array): void {
  host.set(wellFormed(key), typeof value === "string" ? new TextEncoder().encode(value) : value);
}

/** Takes `key` away, if it is there. */
export function remove(key: string): void {
  host.remove(wellFormed(key));
}

/** Whether there is a value under `key`. */
export function exists(key: string): boolean {
  return host.exists(wellFormed(key));
}

/** All keys, in order. */
export function keys(): string[] {
  const found: string[] = [];
  let cursor: host.Cursor = null;
  do {
    const page = host.page(cursor);
    found.push(...page.keys);
    if (found.length > KEYS_MAX) throw new Failure("too-large", `there are more than ${KEYS_MAX} keys`);
    cursor = page.cursor;
  } while (cursor !== null);
  return found.sort();
}
