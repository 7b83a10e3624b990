/** The conformance plugin in TypeScript; `cases.json` says what each tool must do. */

import { blob, Failure, json, KINDS, LEVELS, log, progress, text, tool, want, type Kind } from "pausegate-sdk";
import * as config from "pausegate-sdk/config";
import * as environment from "pausegate-sdk/env";
import * as files from "pausegate-sdk/files";
import * as http from "pausegate-sdk/http";
import * as kv from "pausegate-sdk/kv";
import { happened, notHappened, reconcile, unknown } from "pausegate-sdk/reconcile";
import { z } from "zod";

want.fs("/data", "write", "reads and writes test files");

let counted = 0;

tool({
  name: "echo",
  description: "Hands its text back.",
  effects: "read-only",
  input: z.object({ text: z.string().describe("Any text.") }),
  handler: ({ text }) => text,
});

const Types = z.object({
  string: z.string(),
  integer: z.int(),
  number: z.number(),
  boolean: z.boolean(),
  list: z.array(z.int()),
  map: z.record(z.string(), z.number()),
  nested: z
    .object({
      name: z.string().describe("What it is called."),
      tags: z.array(z.string()).default([]),
      point: z.object({ x: z.number(), y: z.number() }).nullish().default(null),
    })
    .describe("A thing with parts."),
  colour: z.enum(["red", "green", "blue"]),
  optional: z.string().nullish().default(null),
  defaulted: z.int().default(7),
});

tool({
  name: "types",
  description: "Hands its arguments back as it read them.",
  effects: "read-only",
  input: Types,
  output: Types,
  handler: (types) => types,
});

tool({
  name: "any",
  description: "Hands any JSON value back.",
  effects: "read-only",
  input: z.object({ value: z.unknown() }).required(),
  handler: ({ value }) => json({ value }),
});

tool({
  name: "fail",
  description: "Fails as told.",
  effects: "read-only",
  input: z.object({
    kind: z.string(),
    message: z.string(),
    retry_after_ms: z.int().optional(),
    effect: z.enum(["none", "maybe", "happened"]).default("none"),
  }),
  handler({ kind, message, retry_after_ms, effect }) {
    const known: Kind = KINDS.find((each) => each === kind) ?? "failed";
    throw new Failure(known, message, retry_after_ms === undefined ? { effect } : { retryAfterMs: retry_after_ms, effect });
  },
});

tool({
  name: "crash",
  description: "Runs into an error that nobody handles.",
  effects: "read-only",
  handler: () => (null as unknown as { x: { y: string } }).x.y,
});

tool({
  name: "approve",
  description: "Asks for a yes.",
  effects: "read-only",
  input: z.object({ reason: z.string() }),
  handler({ reason }, call) {
    call.askApproval(reason);
    return `approved: ${reason}`;
  },
});

tool({
  name: "approve_both",
  description: "Asks for two yeses.",
  effects: "read-only",
  input: z.object({ first: z.string(), second: z.string() }),
  handler({ first, second }, call) {
    call.askApproval(first);
    call.askApproval(second);
    return `approved: ${first}, ${second}`;
  },
});

tool({
  name: "choose",
  description: "Asks for one of several answers.",
  effects: "read-only",
  input: z.object({ options: z.array(z.string()) }),
  handler: ({ options }, call) => call.askChoice("choice", "Which one?", options),
});

tool({
  name: "paint",
  description: "Asks for a colour by its label.",
  effects: "read-only",
  handler(_, call) {
    const colour: "r" | "g" = call.askChoice("colour", "Which colour?", [
      { value: "r", label: "a warm red" },
      { value: "g", label: "a green" },
    ]);
    return colour;
  },
});

tool({
  name: "text",
  description: "Asks for free text.",
  effects: "read-only",
  input: z.object({ reason: z.string() }),
  handler: ({ reason }, call) => call.askText("text", reason),
});

const Address = z.object({
  street: z.string().describe("Street and number."),
  city: z.string(),
  remark: z.string().nullish().default(null),
});

tool({
  name: "form",
  description: "Asks for an address by a form.",
  effects: "read-only",
  input: z.object({ parcel: z.string() }),
  output: Address,
  handler: ({ parcel }, call) => call.askForm("address", `Where does ${parcel} go?`, Address, { context: { parcel } }),
});

tool({
  name: "rate",
  description: "Asks a question of a kind of its own.",
  effects: "read-only",
  input: z.object({ subject: z.string() }),
  handler({ subject }, call) {
    const stars = call.askOther("stars", `Rate ${subject}`, "conform:stars", { type: "integer", minimum: 1, maximum: 5 });
    return `${subject}: ${stars} of 5`;
  },
});

interface Plan {
  place?: string;
  wishes?: string;
}

tool({
  name: "trip",
  description: "Asks three questions, and keeps what it learned in saved state.",
  effects: "read-only",
  input: z.object({ places: z.array(z.string()) }),
  handler({ places }, call) {
    const plan = call.state<Plan>() ?? {};
    if (plan.place === undefined) {
      plan.place = call.askChoice("place", "Where to?", places);
      call.save(plan);
    }
    if (plan.wishes === undefined) {
      plan.wishes = call.askText("wishes", "What do you want to see there?");
      call.save(plan);
    }
    call.askApproval("Is that the plan?", { context: plan });
    return { ...plan, asked: 3 };
  },
});

tool({
  name: "swallow",
  description: "Asks, and drops its own question.",
  effects: "read-only",
  handler(_, call) {
    try {
      call.askApproval("Is that fine?");
    } catch {
      // The point of this tool.
    }
    return "nobody was asked";
  },
});

tool({
  name: "save_much",
  description: "Saves a long text, then asks.",
  effects: "read-only",
  input: z.object({ bytes: z.int() }),
  handler({ bytes }, call) {
    call.save("x".repeat(bytes));
    return call.askText("text", "What now?");
  },
});

tool({
  name: "say",
  description: "Writes a line at each level.",
  effects: "read-only",
  input: z.object({ text: z.string() }),
  handler({ text }) {
    for (const level of LEVELS) log[level](text);
    console.log(text, { more: 1 });
    return "said";
  },
});

tool({
  name: "count",
  description: "Reports its progress.",
  effects: "read-only",
  input: z.object({ to: z.int() }),
  handler({ to }) {
    for (let done = 0; done <= to; done++) progress(done, to, "counting");
    return String(to);
  },
});

tool({
  name: "read",
  description: "Reads a file.",
  effects: "read-only",
  input: z.object({ path: z.string() }),
  handler: ({ path }) => files.readText(path),
});

tool({
  name: "write",
  description: "Writes a file.",
  effects: "once",
  input: z.object({ path: z.string(), text: z.string() }),
  handler({ path, text }) {
    files.write(path, text);
    return "written";
  },
});

tool({
  name: "list",
  description: "Lists a folder.",
  effects: "read-only",
  input: z.object({ path: z.string() }),
  handler: ({ path }) =>
    files
      .list(path)
      .map((entry) => entry.name)
      .join("\n"),
});

tool({
  name: "get",
  description: "Makes a GET request.",
  effects: "read-only",
  input: z.object({ url: z.string() }),
  handler({ url }) {
    const response = http.get(url);
    return { status: response.status, body: response.text };
  },
});

tool({
  name: "env",
  description: "Looks up a variable of the environment.",
  effects: "read-only",
  input: z.object({ name: z.string() }),
  handler({ name }) {
    const value = environment.get(name);
    if (value === undefined) throw new Failure("not-found", `no variable \`${name}\``);
    return value;
  },
});

tool({
  name: "now",
  description: "Tells the time.",
  effects: "read-only",
  handler: () => ({ ms: Date.now() }),
});

tool({
  name: "random",
  description: "Rolls a number below 2^48.",
  effects: "read-only",
  handler: () => ({ value: Math.floor(Math.random() * 2 ** 48) }),
});

tool({
  name: "big",
  description: "Makes a long text.",
  effects: "read-only",
  input: z.object({ bytes: z.int() }),
  handler: ({ bytes }) => "x".repeat(bytes),
});

tool({
  name: "length",
  description: "Counts the bytes of its text as UTF-8.",
  effects: "read-only",
  input: z.object({ text: z.string() }),
  handler: ({ text }) => ({ bytes: new TextEncoder().encode(text).length }),
});

tool({
  name: "broken",
  description: "Hands back text that is not Unicode.",
  effects: "read-only",
  handler: () => "a\ud800b",
});

tool({
  name: "pieces",
  description: "Hands back text, a value and bytes.",
  effects: "read-only",
  handler: () => [text("one"), json({ two: 2 }), blob("image/png", Uint8Array.of(0x89, 0x50, 0x4e, 0x47))],
});

tool({ name: "nothing", description: "Hands nothing back.", effects: "read-only", handler: () => {} });

tool({
  name: "about",
  description: "Tells what it knows of its call.",
  effects: "read-only",
  handler: (_, call) => ({
    tool: call.tool,
    attempt: call.attempt,
    approved: call.approved,
    has_id: call.id !== "",
    has_key: call.idempotencyKey !== "",
    has_time: call.timeLeftMs > 0,
  }),
});

tool({
  name: "counter",
  description: "Counts its calls in memory, which does not last.",
  effects: "read-only",
  handler: () => String(++counted),
});

tool({
  name: "keep",
  description: "Keeps a text under a key.",
  effects: "once",
  input: z.object({ key: z.string(), value: z.string() }),
  handler({ key, value }) {
    kv.set(key, value);
    return "kept";
  },
});

tool({
  name: "kept",
  description: "Tells what is kept under a key.",
  effects: "read-only",
  input: z.object({ key: z.string() }),
  handler: ({ key }) => (kv.exists(key) ? (kv.getText(key) ?? "") : `nothing under \`${key}\``),
});

tool({
  name: "forget",
  description: "Takes a key away.",
  effects: "once",
  input: z.object({ key: z.string() }),
  handler({ key }) {
    kv.remove(key);
    return "forgotten";
  },
});

tool({ name: "keys", description: "Lists the keys that are kept.", effects: "read-only", handler: () => kv.keys().join("\n") });

tool({
  name: "setting",
  description: "Tells a setting of the operator's.",
  effects: "read-only",
  input: z.object({ name: z.string() }),
  handler({ name }) {
    const [value, count] = [config.get(name), Object.keys(config.all()).length];
    return value === undefined ? `none of ${count}` : `${value}, of ${count}`;
  },
});

// A write is there or it is not; a file that says so was refused.
reconcile((call) => {
  const { path, text } = call.arguments;
  try {
    const held = files.readText(path);
    if (held === text) return happened("written");
    return held === "refused" ? happened(new Failure("conflict", "it was refused")) : unknown;
  } catch (error) {
    if (error instanceof Failure && error.kind === "not-found") return notHappened;
    throw error;
  }
});
