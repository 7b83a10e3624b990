/** What a plugin would like to be granted, and why. Shown to the operator; grants nothing. */

import type { Want } from "./contract.ts";

export const WANTS: Want[] = [];

function add(capability: string, scope: object, why: string): void {
  WANTS.push({ capability, scope: JSON.stringify(scope), why });
}

export const want = {
  /** A folder of the host at `mount`. */
  fs: (mount: string, access: "read" | "write", why: string) => add("fs", { mount, access }, why),
  /** Requests to `url`, which may hold `*`, with these methods. */
  http: (url: string, methods: string[], why: string) => add("http", { url, methods }, why),
  /** An environment variable. */
  env: (name: string, why: string) => add("env", { name }, why),
  /** Key-value storage. */
  kv: (scope: "chain" | "plugin", why: string) => add("kv", { scope }, why),
  /** Anything else, with the keys of its grant line as `scope`. */
  other: add,
};
