/** Outside the sandbox there is no host that keeps values. */
export const values = new Map<string, Uint8Array>();

export type Cursor = bigint | null;

export function get(key: string): Uint8Array | undefined {
  return values.get(key);
}

export function set(key: string, value: Uint8Array): void {
  values.set(key, Uint8Array.from(value));
}

export function remove(key: string): void {
  values.delete(key);
}

export function exists(key: string): boolean {
  return values.has(key);
}

export function page(_cursor: Cursor): { keys: string[]; cursor: Cursor } {
  return { keys: [...values.keys()], cursor: null };
}
