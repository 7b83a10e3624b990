/** What the component exports. The catalog was made at build, when the plugin's modules were loaded. */

import type { Given, Outcome } from "./contract.ts";
import { words } from "./failure.ts";
import { attempt, TOOLS } from "./tool.ts";
import { WANTS } from "./want.ts";
import { crossing, wellFormed } from "./wellformed.ts";

export const tools = {
  listTools,
  callTool(call: Given): Outcome {
    try {
      return crossing(attempt(call));
    } catch (error) {
      return unworded(error);
    }
  },
};

export function listTools() {
  return { tools: [...TOOLS.values()].map((tool) => tool.record), wants: WANTS, meta: [] };
}

/** An error that got so far would be a trap. */
export function unworded(error: unknown): Outcome {
  const message = `the plugin could not word its result: ${wellFormed(words(error))}`;
  return { tag: "failed", val: { kind: "failed", message, retryAfterMs: null, effect: "maybe", meta: [] } };
}
