/// <reference path="./imports.d.ts" />

import store from "wasi:config/store@0.2.0-rc.1";

import { Failure } from "../failure.ts";

export function all(): [string, string][] {
  try {
    return store.getAll();
  } catch (error) {
    const refused = ((error as { payload?: unknown })?.payload ?? error) as { tag?: unknown; val?: unknown };
    if (refused?.tag !== "upstream" && refused?.tag !== "io") throw error;
    throw new Failure("unavailable", String(refused.val));
  }
}
