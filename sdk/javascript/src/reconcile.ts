/**
 * Telling after a crash whether a call took effect, so that no person has to be asked. A plugin that imports it exports
 * the contract's optional part.
 *
 * ```ts
 * reconcile((call) => {
 *   const response = http.get(`https://api.example/orders/${call.idempotencyKey}`);
 *   return response.status === 404 ? notHappened : happened(response.ok().text);
 * });
 * ```
 */

import { Call } from "./call.ts";
import { type Returned, success } from "./content.ts";
import type { FailureRecord, Given, Success } from "./contract.ts";
import { Failure, failureOf, words } from "./failure.ts";
import { log } from "./log.ts";

/** What became of an earlier attempt. */
export type Verdict =
  | { tag: "happened"; val: { tag: "ok"; val: Success } | { tag: "err"; val: FailureRecord } }
  | { tag: "not-happened" }
  | { tag: "unknown" };

/** It took no effect, now or later: the call may be made again. */
export const notHappened: Verdict = { tag: "not-happened" };
/** It cannot be told: a person is asked. */
export const unknown: Verdict = { tag: "unknown" };

/** It took effect; `result` is what the tool returned, or would have, or the `Failure` that it ended with. */
export function happened(result?: Returned | Failure): Verdict {
  const val = result instanceof Failure ? ({ tag: "err", val: failureOf(result) } as const) : ({ tag: "ok", val: success(result) } as const);
  return { tag: "happened", val };
}

export type Find = (call: Call) => Verdict;

let finder: Find | null = null;

/**
 * Gives the function that the host asks. It looks, for instance by the call's idempotency key at the service, and
 * changes nothing: it runs as a `read-only` attempt. Where it throws, a person is asked.
 */
export function reconcile(find: Find): Find {
  if (finder) throw new TypeError("one function of a plugin is given to `reconcile`");
  finder = find;
  return find;
}

/** What `find` says of an attempt. Nothing that it throws leaves it. */
export function verdict(given: Given, find: Find | null = finder): Verdict {
  try {
    const found = find?.(new Call(given)) ?? unknown;
    if (!["happened", "not-happened", "unknown"].includes(found.tag)) throw new TypeError("it returned no verdict");
    return found;
  } catch (thrown) {
    log.warn(`it could not be found out what became of the call: ${words(thrown)}`);
    return unknown;
  }
}
