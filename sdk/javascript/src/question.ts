/** What a person can be asked, and what comes back. */

import type { Ask, PauseRecord } from "./contract.ts";
import { Failure } from "./failure.ts";
import { type Output, read, type Schema, written } from "./schema.ts";

/** A question whose answer is an `A`. */
export interface Question<A> {
  readonly reason: string;
  readonly ask: Ask;
  readonly context: string | null;
  readonly read: (value: unknown) => A;
}

export type Option = string | { value: string; label?: string };

interface Shown {
  /** A JSON value to show beside the reason: a diff, a list of files, a price. */
  context?: unknown;
}

/** Yes or no. Only a yes comes back: a no ends the call. */
export function approval(reason: string, shown: Shown = {}): Question<true> {
  const read = (value: unknown) => {
    if (value !== true) throw new Failure("invalid-input", "only `true` approves");
    return true as const;
  };
  return question(reason, { tag: "approval" }, shown, read);
}

/** One of several values. */
export function choice<const O extends readonly Option[]>(reason: string, options: O, shown: Shown = {}): Question<ValueOf<O[number]>> {
  const val = options.map((option) => (typeof option === "string" ? { value: option, label: null } : { value: option.value, label: option.label ?? null }));
  const read = (value: unknown) => {
    if (!val.some((option) => option.value === value)) throw new Failure("invalid-input", `${JSON.stringify(value)} is not among the choices`);
    return value as ValueOf<O[number]>;
  };
  return question(reason, { tag: "choice", val }, shown, read);
}
export type ValueOf<O> = O extends string ? O : O extends { value: infer V extends string } ? V : string;

/** Free text. */
export function textAnswer(reason: string, shown: Shown = {}): Question<string> {
  const read = (value: unknown) => {
    if (typeof value !== "string") throw new Failure("invalid-input", "expected text");
    return value;
  };
  return question(reason, { tag: "text" }, shown, read);
}

/** A value that fits the schema. */
export function form<S extends Schema>(reason: string, schema: S, shown: Shown = {}): Question<Output<S>> {
  return question(reason, { tag: "form", val: written(schema) }, shown, (value) => read(schema, value));
}

/** A question of another, namespaced kind; `schema` is the JSON Schema of its answer. */
export function other(reason: string, kind: string, schema: object, shown: Shown = {}): Question<unknown> {
  return question(reason, { tag: "other", val: { kind, schema: JSON.stringify(schema) } }, shown, (value) => value);
}

function question<A>(reason: string, ask: Ask, shown: Shown, read: (value: unknown) => A): Question<A> {
  return { reason, ask, context: shown.context === undefined ? null : JSON.stringify(shown.context), read };
}

/**
 * What `call.ask…` throws: the attempt ends here until a person answered.
 *
 * It is no `Error`, and the call remembers it: a handler that swallows it changes nothing.
 */
export class Pause {
  readonly pause: PauseRecord;
  constructor(key: string, { reason, context, ask }: Question<unknown>) {
    this.pause = { key, reason, context, ask, state: null, meta: [] };
  }
}

/** Whether an answer to `asked` is an answer to `asking`. Schemas are compared as values: the host may have written them anew. */
export function same(asked: Ask, asking: Ask): boolean {
  if (asked.tag === "choice" && asking.tag === "choice") {
    return equal(asked.val.map(pair), asking.val.map(pair));
  }
  if (asked.tag === "form" && asking.tag === "form") return equal(JSON.parse(asked.val), JSON.parse(asking.val));
  if (asked.tag === "other" && asking.tag === "other") {
    return asked.val.kind === asking.val.kind && equal(JSON.parse(asked.val.schema), JSON.parse(asking.val.schema));
  }
  return asked.tag === asking.tag;
}

function pair(option: { value: string; label?: string | null }): [string, string | null] {
  return [option.value, option.label ?? null];
}

function equal(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null || Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => key in b && equal((a as never)[key], (b as never)[key]));
}

/** Holds the reason, so that a yes to one thing is none to another. FNV-1a, the same in every language. */
export function approvalKey(reason: string): string {
  let hash = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(reason)) hash = ((hash ^ BigInt(byte)) * 0x100000001b3n) & 0xffffffffffffffffn;
  return `approval-${hash.toString(16).padStart(16, "0")}`;
}
