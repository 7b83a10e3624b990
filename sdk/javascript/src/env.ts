/** Variables that the operator granted. */

import * as host from "./host/env.ts";

/** The value, or `undefined` where there is none. */
export function get(name: string): string | undefined {
  return host.all().find(([key]) => key === name)?.[1];
}

export function all(): Record<string, string> {
  return Object.fromEntries(host.all());
}
