/** The component's optional export: of plugins that import `pausegate-sdk/reconcile`. */

import type { Given } from "./contract.ts";
import { unknown, type Verdict, verdict } from "./reconcile.ts";
import { crossing } from "./wellformed.ts";

export const reconcile = {
  reconcile(call: Given): Verdict {
    try {
      const found = verdict(call);
      if (found.tag !== "happened") return found;
      const outcome = crossing(found.val.tag === "ok" ? { tag: "done", val: found.val.val } : { tag: "failed", val: found.val.val });
      if (outcome.tag === "done") return { tag: "happened", val: { tag: "ok", val: outcome.val } };
      return outcome.tag === "failed" ? { tag: "happened", val: { tag: "err", val: outcome.val } } : unknown;
    } catch {
      // An error that got here would be a trap.
      return unknown;
    }
  },
};
