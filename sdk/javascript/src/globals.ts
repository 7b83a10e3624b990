/**
 * What JavaScript authors expect and the component's engine lacks: `console`, `TextEncoder`, `TextDecoder`, randomness
 * that differs between instances. Imported first, since modules use them while they are loaded.
 */

import { bytes } from "./host/random.ts";
import { log } from "./log.ts";
import { Utf8Decoder, Utf8Encoder } from "./utf8.ts";

function define(name: string, value: unknown): void {
  Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
}

define("console", {
  ...log,
  log: log.info,
  dir: log.info,
  assert: (fine: unknown, ...parts: unknown[]) => void (fine || log.error("assertion failed:", ...parts)),
});
if (!("TextEncoder" in globalThis)) define("TextEncoder", Utf8Encoder);
if (!("TextDecoder" in globalThis)) define("TextDecoder", Utf8Decoder);

// The engine's own was seeded when the component was built: every instance would roll the same numbers.
Math.random = () => {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0] = bytes(7);
  return (((a & 31) * 2 ** 48 + b * 2 ** 40 + c * 2 ** 32 + d * 2 ** 24 + e * 2 ** 16 + f * 2 ** 8 + g) / 2 ** 53);
};
if (!("crypto" in globalThis)) {
  define("crypto", {
    getRandomValues(into: Uint8Array): Uint8Array {
      new Uint8Array(into.buffer, into.byteOffset, into.byteLength).set(bytes(into.byteLength));
      return into;
    },
    randomUUID(): string {
      const raw = bytes(16);
      raw[6] = ((raw[6] ?? 0) & 15) | 64;
      raw[8] = ((raw[8] ?? 0) & 63) | 128;
      const hex = [...raw].map((byte) => byte.toString(16).padStart(2, "0")).join("");
      return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
    },
  });
}
