/** JSON Schemas of zod's, and values checked by them. */

import * as z from "zod";

import { Failure } from "./failure.ts";

/** A zod schema, or `jsonSchema(…)`. */
export type Schema<T = unknown> = z.ZodType<T> | JsonSchema<T>;
export type Output<S> = S extends z.ZodType ? z.output<S> : S extends JsonSchema<infer T> ? T : never;

/** A schema written by hand; the host checks values by it, and they come as they are. */
export class JsonSchema<T = unknown> {
  readonly schema: object;
  declare readonly of: T;
  constructor(schema: object) {
    this.schema = schema;
  }
}

/** A schema written by hand, for what zod cannot say. */
export function jsonSchema<T = unknown>(schema: object): JsonSchema<T> {
  return new JsonSchema<T>(schema);
}

/** The schema as JSON text, as the contract wants it. */
export function written(schema: Schema, io: "input" | "output" = "input"): string {
  if (schema instanceof JsonSchema) return JSON.stringify(schema.schema);
  const made: Record<string, unknown> = z.toJSONSchema(schema, { io, override: ({ jsonSchema }) => plain(jsonSchema) });
  delete made["$schema"];
  return JSON.stringify(made);
}

/** Objects take no unknown keys unless they say so, and an integer needs no bounds that every number here has. */
function plain(schema: Record<string, unknown>): void {
  if (schema["type"] === "object" && schema["properties"] && schema["additionalProperties"] === undefined) {
    schema["additionalProperties"] = false;
  }
  if (schema["minimum"] === Number.MIN_SAFE_INTEGER) delete schema["minimum"];
  if (schema["maximum"] === Number.MAX_SAFE_INTEGER) delete schema["maximum"];
}

/** `value` as the schema makes it: with defaults, and transformed. */
export function read<S extends Schema>(schema: S, value: unknown): Output<S> {
  if (schema instanceof JsonSchema) return value as Output<S>;
  const read = schema.safeParse(value);
  if (read.success) return read.data as Output<S>;
  const issues = read.error.issues.map(({ path, message }) => `\`${place(path)}\`: ${message}`);
  throw new Failure("invalid-input", issues.join("; "));
}

function place(path: PropertyKey[]): string {
  const steps = path.map((step) => (typeof step === "number" ? `[${step}]` : `.${String(step)}`));
  return steps.join("").replace(/^\./, "") || ".";
}
