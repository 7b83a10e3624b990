/** What the component exports where its engine, StarlingMonkey, runs promises to their end. */

import type { Given, Outcome } from "./contract.ts";
import { listTools, unworded } from "./export.ts";
import { attemptAsync } from "./tool.ts";
import { crossing } from "./wellformed.ts";

export const tools = {
  listTools,
  async callTool(call: Given): Promise<Outcome> {
    try {
      return crossing(await attemptAsync(call));
    } catch (error) {
      return unworded(error);
    }
  },
};
