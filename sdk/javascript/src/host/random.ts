/// <reference path="./imports.d.ts" />

import random from "wasi:random/random@0.2.12";

export function bytes(count: number): Uint8Array {
  return Uint8Array.from(random.getRandomBytes(count));
}
