/**
 * Tools whose handlers are `async`, for plugins that are built with StarlingMonkey: `"pausegate": { "engine":
 * "starlingmonkey" }` in `package.json`. QuickJS, which is used unless told, runs no promise to its end.
 */

import type * as z from "zod";

import type { Call } from "./call.ts";
import type { Returned } from "./content.ts";
import type { JsonSchema, Output, Schema } from "./schema.ts";
import { type Definition, offered, type Tool } from "./tool.ts";

export type AsyncDefinition<I extends z.ZodObject | JsonSchema, O extends Schema> = Omit<Definition<I, O>, "handler"> & {
  handler: (input: Output<I>, call: Call) => Promise<unknown extends Output<O> ? Returned : Output<O>>;
};

/** Makes a tool of a description and an `async` function, and offers it. */
export function asyncTool<I extends z.ZodObject | JsonSchema = JsonSchema<Record<string, never>>, O extends Schema = JsonSchema<unknown>>(
  definition: AsyncDefinition<I, O>,
): Tool<Output<I>> {
  return offered(definition as unknown as Definition<I, O>);
}
