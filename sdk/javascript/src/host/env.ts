/// <reference path="./imports.d.ts" />

import environment from "wasi:cli/environment@0.2.12";

export function all(): [string, string][] {
  return environment.getEnvironment();
}
