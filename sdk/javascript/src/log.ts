/**
 * Lines for the operator, which the model never sees, and how far a call has come. In the component `console` writes
 * here too; in tests lines go to standard error.
 */

import * as host from "./host/log.ts";
import { wellFormed } from "./wellformed.ts";

export const LEVELS = ["trace", "debug", "info", "warn", "error"] as const;
export type Level = (typeof LEVELS)[number];

function write(level: Level, parts: unknown[]): void {
  host.write(level, wellFormed(parts.map(shown).join(" ")));
}

export const log = {
  trace: (...parts: unknown[]) => write("trace", parts),
  debug: (...parts: unknown[]) => write("debug", parts),
  info: (...parts: unknown[]) => write("info", parts),
  warn: (...parts: unknown[]) => write("warn", parts),
  error: (...parts: unknown[]) => write("error", parts),
};

/** Says that `done` of `total` is done, in a unit of your choice; `done` only grows. */
export function progress(done: number, total?: number, message = ""): void {
  host.report(done, total ?? null, wellFormed(message));
}

function shown(part: unknown): string {
  if (typeof part === "string") return part;
  if (part instanceof Error) return part.stack ? `${part.name}: ${part.message}\n${part.stack.trimEnd()}` : `${part.name}: ${part.message}`;
  try {
    return (typeof part === "object" ? JSON.stringify(part) : undefined) ?? String(part);
  } catch {
    return Object.prototype.toString.call(part);
  }
}
