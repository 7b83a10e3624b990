/**
 * Write Pausegate plugins in TypeScript or JavaScript: a zod object and a function are a tool.
 *
 * ```ts
 * export const remove = tool({
 *   name: "remove",
 *   description: "Removes a file for good.",
 *   effects: "once",
 *   input: z.object({ path: z.string().describe("Where it is, such as `/build/a.tmp`.") }),
 *   handler({ path }, call) {
 *     call.askApproval(`Remove ${path}`);
 *     files.remove(path);
 *     return `removed ${path}`;
 *   },
 * });
 * ```
 */

export { STATE_BYTES_MAX, type Call } from "./call.ts";
export { blob, json, text, type Content, type Returned } from "./content.ts";
export { Failure, KINDS, type Effect, type Kind } from "./failure.ts";
export { LEVELS, log, progress, type Level } from "./log.ts";
export { approval, choice, form, other, Pause, textAnswer, type Option, type Question } from "./question.ts";
export { jsonSchema, type Schema } from "./schema.ts";
export { tool, type Effects, type Tool } from "./tool.ts";
export { want } from "./want.ts";
