/** Settings that the operator made for this plugin: `config = { units = "metric" }` in its section. */

import * as host from "./host/config.ts";

/** The setting of this name, or `undefined` where the operator made none. */
export function get(name: string): string | undefined {
  return host.all().find(([key]) => key === name)?.[1];
}

export function all(): Record<string, string> {
  return Object.fromEntries(host.all());
}
