/** From a description and a function to a tool, and how an attempt runs. */

import type * as z from "zod";

import { Call } from "./call.ts";
import { type Returned, success } from "./content.ts";
import type { Given, Outcome, ToolRecord } from "./contract.ts";
import { Failure, failureOf, words } from "./failure.ts";
import { log } from "./log.ts";
import { Pause } from "./question.ts";
import { JsonSchema, type Output, read, type Schema, written } from "./schema.ts";

/**
 * What running a tool twice would do: nothing outside (`read-only`), the same as once (`idempotent`), or harm (`once`).
 * The host holds the plugin to its word.
 */
export type Effects = "read-only" | "idempotent" | "once";

export interface Definition<I extends z.ZodObject | JsonSchema, O extends Schema> {
  /** `[a-zA-Z0-9_-]`, at most 64 characters together with the plugin's name. */
  name: string;
  /** A short name for people. */
  title?: string;
  /** What it does, for the model. */
  description: string;
  /** `once` unless told. */
  effects?: Effects;
  /** The arguments; none unless told. */
  input?: I;
  /** The schema of what the handler returns, if programs are to read it. */
  output?: O;
  handler: (input: Output<I>, call: Call) => NotAPromise<unknown extends Output<O> ? Returned : Output<O>>;
}
type NotAPromise<T> = T extends PromiseLike<unknown> ? never : T;

export interface Tool<I = unknown> {
  readonly record: ToolRecord;
  /** Reads the arguments and calls the handler. */
  readonly run: (call: Call, args: string) => Returned;
  readonly handler: (input: I, call: Call) => unknown;
}

/** All tools of the plugin, by name. */
export const TOOLS = new Map<string, Tool>();

const EFFECTS = ["read-only", "idempotent", "once"];

/** Makes a tool of a description and a function, and offers it. */
export function tool<I extends z.ZodObject | JsonSchema = JsonSchema<Record<string, never>>, O extends Schema = JsonSchema<unknown>>(
  definition: Definition<I, O>,
): Tool<Output<I>> {
  return offered(definition);
}

/** The same for a handler of any kind; `async.ts` has promises. */
export function offered<I extends z.ZodObject | JsonSchema, O extends Schema>(definition: Definition<I, O>): Tool<Output<I>> {
  const made = make(definition);
  const { name } = made.record;
  if (TOOLS.has(name)) throw new TypeError(`two tools are named \`${name}\``);
  TOOLS.set(name, made as Tool);
  return made;
}

function make<I extends z.ZodObject | JsonSchema, O extends Schema>(definition: Definition<I, O>): Tool<Output<I>> {
  const { name, title, description, effects = "once", handler } = definition;
  const input = definition.input ?? new JsonSchema({ type: "object", properties: {}, additionalProperties: false });
  if (!/^[a-zA-Z0-9_-]{1,64}$/.test(name)) throw new TypeError(`tool \`${name}\`: a name has 1 to 64 of \`a-zA-Z0-9_-\``);
  if (!description) throw new TypeError(`tool \`${name}\`: a description says what it does, for the model`);
  if (!EFFECTS.includes(effects)) throw new TypeError(`tool \`${name}\`: effects are one of ${EFFECTS.join(", ")}, not \`${effects}\``);
  const record: ToolRecord = {
    name,
    title: title ?? null,
    description,
    inputSchema: written(input),
    outputSchema: definition.output ? written(definition.output, "output") : null,
    effects,
    meta: [],
  };
  const handle = handler as (input: unknown, call: Call) => Returned;
  const run = (call: Call, args: string) => handle(read(input, JSON.parse(args)), call);
  return { record, run, handler: handle as Tool<Output<I>>["handler"] };
}

/** One attempt, from JSON arguments to outcome. Nothing that a tool throws leaves it. */
export function attempt(given: Given, tools: ReadonlyMap<string, Tool> = TOOLS): Outcome {
  const call = new Call(given);
  return call.end(() => {
    try {
      return { tag: "done", val: success(found(given, tools).run(call, given.arguments)) };
    } catch (thrown) {
      return outcomeOf(thrown);
    }
  });
}

/** The same for a tool that may hand back a promise. */
export async function attemptAsync(given: Given, tools: ReadonlyMap<string, Tool> = TOOLS): Promise<Outcome> {
  const call = new Call(given);
  let outcome: Outcome;
  try {
    outcome = { tag: "done", val: success(await found(given, tools).run(call, given.arguments)) };
  } catch (thrown) {
    outcome = outcomeOf(thrown);
  }
  return call.end(() => outcome);
}

function found(given: Given, tools: ReadonlyMap<string, Tool>): Tool {
  const tool = tools.get(given.tool);
  if (!tool) throw new Failure("not-found", `no tool named \`${given.tool}\``);
  return tool;
}

function outcomeOf(thrown: unknown): Outcome {
  if (thrown instanceof Pause) return { tag: "pause", val: thrown.pause };
  if (!(thrown instanceof Failure)) log.debug(trace(thrown));
  return { tag: "failed", val: failureOf(thrown) };
}

function trace(thrown: unknown): string {
  const stack = thrown instanceof Error && typeof thrown.stack === "string" ? thrown.stack.trimEnd() : "";
  // Some engines begin the stack with the error's own words.
  return stack.startsWith(words(thrown)) ? stack : `${words(thrown)}\n${stack}`.trimEnd();
}
