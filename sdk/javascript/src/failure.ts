/** Why a tool could not do its work, in words the model can act on. */

import type { FailureRecord } from "./contract.ts";

export const KINDS = [
  "invalid-input",
  "not-found",
  "denied",
  "auth-required",
  "timeout",
  "rate-limited",
  "unavailable",
  "too-large",
  "conflict",
  "failed",
] as const;
export type Kind = (typeof KINDS)[number];

const EFFECTS = ["none", "maybe", "happened"] as const;
/** Whether a call that failed changed something all the same. */
export type Effect = (typeof EFFECTS)[number];

/** A failed call: throw it from anywhere below the tool. */
export class Failure extends Error {
  readonly kind: Kind;
  readonly retryAfterMs: number | null;
  readonly effect: Effect;

  /** `message` says what happened to what. */
  constructor(kind: Kind, message: string, options: { retryAfterMs?: number; effect?: Effect; cause?: unknown } = {}) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.name = "Failure";
    if (!KINDS.includes(kind)) throw new TypeError(`no kind of failure is named \`${kind}\`; there are ${KINDS.join(", ")}`);
    this.kind = kind;
    this.retryAfterMs = options.retryAfterMs ?? null;
    this.effect = options.effect ?? "none";
    if (!EFFECTS.includes(this.effect)) throw new TypeError(`no effect is named \`${this.effect}\`; there are ${EFFECTS.join(", ")}`);
  }
}

/** How far down the causes of an error are looked through. */
const CAUSES_MAX = 16;

/** Whatever was thrown, as a failure: one further down the causes gives the kind. */
export function failureOf(thrown: unknown): FailureRecord {
  let cause: unknown = thrown;
  for (let depth = 0; depth < CAUSES_MAX && cause !== undefined; depth++) {
    if (cause instanceof Failure) {
      const message = cause === thrown ? cause.message : `${words(thrown)}: ${cause.message}`;
      return record(cause.kind, message, cause.retryAfterMs, cause.effect);
    }
    cause = cause instanceof Error ? cause.cause : undefined;
  }
  return record("failed", words(thrown), null, "none");
}

function record(kind: Kind, message: string, wait: number | null, effect: Effect): FailureRecord {
  const retryAfterMs = wait === null || !Number.isFinite(wait) ? null : Math.min(Math.max(Math.round(wait), 0), 2 ** 32 - 1);
  return { kind, message, retryAfterMs, effect, meta: [] };
}

/** An error's name and message; for other values, what they are as text. Either may throw itself. */
export function words(thrown: unknown): string {
  try {
    if (thrown instanceof Error) return thrown.message ? `${thrown.name}: ${thrown.message}` : thrown.name;
    return `thrown: ${String(thrown)}`;
  } catch {
    return "an error that has no words";
  }
}
