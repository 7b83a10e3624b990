/** What an author can rely on: how an attempt ends, and what comes back from a question. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { blob, type Call, Failure, json, jsonSchema, log, Pause, progress, text, tool, want } from "pausegate-sdk";
import { asyncTool } from "pausegate-sdk/async";
import * as config from "pausegate-sdk/config";
import * as http from "pausegate-sdk/http";
import * as kv from "pausegate-sdk/kv";
import { happened, notHappened, unknown, type Verdict } from "pausegate-sdk/reconcile";
import { answerRequests, call, callAsync, reconciled, settings, values } from "pausegate-sdk/testing";
import { z } from "zod";

import { approvalKey } from "../src/question.ts";
import { written } from "../src/schema.ts";
import { attempt, TOOLS } from "../src/tool.ts";
import { WANTS } from "../src/want.ts";

let made = 0;

/** A tool of one test. */
function asking(handler: (call: Call) => unknown) {
  return tool({ name: `t${made++}`, description: "Is tested.", effects: "read-only", handler: (_, call) => handler(call) });
}

test("a yes lets the call go on", () => {
  const remove = tool({
    name: "remove",
    description: "Removes a file.",
    input: z.object({ path: z.string() }),
    handler({ path }, call) {
      call.askApproval(`Remove ${path}`);
      return `removed ${path}`;
    },
  });
  const first = call(remove, { path: "/a" });
  assert.equal(first.pause?.reason, "Remove /a");
  assert.equal(first.answer(true).text, "removed /a");
  assert.equal(first.approved().text, "removed /a");
});

test("S01: a question that was swallowed is asked all the same", () => {
  const careless = asking((call) => {
    try {
      call.askApproval("Really?");
    } catch {}
    try {
      call.askText("name", "What name?");
    } catch (thrown) {
      assert.ok(thrown instanceof Pause && !((thrown as unknown) instanceof Error));
    }
    throw new Error("not even that");
  });
  assert.equal(call(careless).pause?.reason, "Really?");
});

test("S02: one yes answers one question", () => {
  const both = asking((call) => {
    call.askApproval("First?");
    call.askApproval("Second?");
    return "both";
  });
  const second = call(both).answer(true);
  assert.equal(second.pause?.reason, "Second?");
  assert.equal(second.answer(true).text, "both");
});

test("S03: nothing but true is a yes", () => {
  const remove = asking((call) => call.askApproval("Remove it"));
  for (const value of [false, null, {}, "true", 1, []]) assert.equal(call(remove).answer(value).failure?.kind, "invalid-input");
});

test("S10: an answer holds for its own question only", () => {
  const options = ["a", "b"];
  const choose = asking((call) => call.askChoice("key", "Which?", options));
  const first = call(choose);
  options.push("c");
  assert.equal(first.answer("a").pause?.ask.tag, "choice");
  assert.equal(call(choose).answer("a").text, "a");
});

test("each kind of question has its answer", () => {
  const Address = z.object({ street: z.string(), city: z.string().default("here") });
  const kinds: [(call: Call) => unknown, unknown, unknown][] = [
    [(call) => call.askChoice("k", "?", ["r", { value: "g", label: "green" }]), "g", "g"],
    [(call) => call.askText("k", "?"), "words", "words"],
    [(call) => call.askForm("k", "?", Address), { street: "S" }, { street: "S", city: "here" }],
    [(call) => call.askOther("k", "?", "mine:stars", { type: "integer" }), 5, 5],
  ];
  for (const [ask, value, expected] of kinds) {
    const ended = call(asking((call) => json(ask(call)))).answer(value);
    assert.deepEqual(ended.structured, expected);
  }
});

test("an answer that does not fit is a failure that says so", () => {
  const choose = asking((call) => call.askChoice("k", "Which?", ["a"]));
  assert.equal(call(choose).answer("z").failure?.message, 'the answer to `k` does not fit: "z" is not among the choices');
});

test("state goes along with the question, and has a limit", () => {
  const trip = asking((call) => {
    const asked = (call.state<number>() ?? 0) + 1;
    call.save(asked);
    return call.askText(`q${asked}`, "What?");
  });
  const second = call(trip).answer("x");
  assert.equal(new TextDecoder().decode(second.pause?.state ?? undefined), "2");
  const hoard = (size: number) => call(asking((call) => call.save("x".repeat(size)))).failure?.kind;
  assert.equal(hoard(64 * 1024 - 2), undefined);
  assert.equal(hoard(64 * 1024 - 1), "too-large");
});

test("the key of an approval is the same in every language", () => {
  assert.equal(approvalKey("x"), "approval-af63f54c86021707");
});

test("whatever is thrown is a failure", () => {
  const thrower = (thrown: unknown) => call(asking(() => { throw thrown; })).failure;
  const unspeakable = { toString() { throw new Error("no words"); } };
  assert.equal(thrower(new TypeError("x"))?.message, "TypeError: x");
  assert.equal(thrower("text")?.message, "thrown: text");
  assert.equal(thrower(undefined)?.message, "thrown: undefined");
  assert.equal(thrower(unspeakable)?.message, "an error that has no words");
  assert.equal(thrower(Object.create(null))?.kind, "failed");
});

test("a failure has a kind, a wait and an effect, also from further down", () => {
  const deep = new Failure("rate-limited", "too many", { retryAfterMs: 1500, effect: "maybe" });
  const failed = call(asking(() => { throw new Error("asking", { cause: deep }); })).failure;
  assert.deepEqual(failed, { kind: "rate-limited", message: "Error: asking: too many", retryAfterMs: 1500, effect: "maybe", meta: [] });
  assert.throws(() => new Failure("oops" as never, "x"), /no kind of failure/);
});

test("recursion without end is a failure", () => {
  const deeper = (n: number): number => deeper(n + 1) + 1;
  assert.equal(call(asking(() => String(deeper(0)))).failure?.kind, "failed");
});

test("text, values and pieces", () => {
  const bodies = (value: unknown) => call(asking(() => value)).content?.map(({ body }) => body);
  assert.deepEqual(bodies(undefined), []);
  assert.deepEqual(bodies("x"), [{ tag: "text", val: "x" }]);
  assert.deepEqual(bodies({ a: [1] }), [{ tag: "structured", val: '{"a":[1]}' }]);
  assert.deepEqual(bodies([]), [{ tag: "structured", val: "[]" }]);
  assert.deepEqual(bodies([text("x"), blob("a/b", Uint8Array.of(1))])?.length, 2);
  for (const value of [() => 1, Symbol("x"), 1n, Uint8Array.of(1), Promise.resolve(1)]) {
    assert.equal(call(asking(() => value)).failure?.kind, "failed");
  }
});

test("a call knows itself", () => {
  const about = asking((call) => `${call.tool.slice(0, 1)} ${call.attempt} ${call.approved} ${call.timeLeftMs}`);
  assert.equal(call(about).text, "t 1 false 30000");
  assert.equal(call(about).approved().text, "t 2 true 30000");
});

test("requests are answered by the test", () => {
  const fetch = asking(() => http.get("http://x/").ok().text);
  assert.match(call(fetch).failure?.message ?? "", /answerRequests/);
  answerRequests((request) => new http.Response(404, [], request.url));
  assert.deepEqual([call(fetch).failure?.kind, call(fetch).failure?.message], ["not-found", "the server answered 404: http://x/"]);
});

test("S19: arguments that do not fit name the place", () => {
  const add = tool({
    name: "add",
    description: "Adds.",
    input: z.object({ a: z.int(), b: z.array(z.object({ c: z.string() })) }),
    handler: ({ a }) => String(a),
  });
  assert.match(call(add, { a: "notint", b: [] }).failure?.message ?? "", /^`a`: /);
  assert.match(call(add, { a: 1, b: [{}] }).failure?.message ?? "", /^`b\[0\]\.c`: /);
  assert.equal(call(add, {}).failure?.kind, "invalid-input");
});

test("W44, W45, S18: what no model takes is refused at build", () => {
  const named = (name: string) => tool({ name, description: "x", handler: () => "" });
  for (const name of ["a.b", "ns:pkg/i.f", "ä", "", "x".repeat(65)]) assert.throws(() => named(name), /1 to 64 of/);
  named("same");
  assert.throws(() => named("same"), /two tools are named `same`/);
  assert.throws(() => tool({ name: "y", description: "", handler: () => "" }), /a description says/);
  assert.throws(() => tool({ name: "y", description: "x", effects: "none" as never, handler: () => "" }), /effects are one of/);
});

test("schemas are closed, and plain", () => {
  const schema = z.object({
    path: z.string().describe("Where."),
    count: z.int().default(3),
    more: z.looseObject({}).optional(),
  });
  assert.deepEqual(JSON.parse(written(schema)), {
    type: "object",
    properties: {
      path: { type: "string", description: "Where." },
      count: { type: "integer", default: 3 },
      more: { type: "object", properties: {}, additionalProperties: {} },
    },
    required: ["path"],
    additionalProperties: false,
  });
  assert.equal(written(jsonSchema({ type: "object" })), '{"type":"object"}');
});

test("a tool without arguments takes none", () => {
  assert.deepEqual(JSON.parse(asking(() => "").record.inputSchema), { type: "object", properties: {}, additionalProperties: false });
});

test("an unknown tool is not found", () => {
  const given = { id: "i", tool: "nothing", arguments: "{}", attempt: 1, idempotencyKey: "k", timeLeftMs: 1, approved: false, answers: [], meta: [] };
  const outcome = attempt(given);
  assert.equal(outcome.tag === "failed" && outcome.val.kind, "not-found");
});

test("tools are offered and wants are kept", () => {
  want.fs("/build", "write", "removes files");
  assert.deepEqual(WANTS.at(-1), { capability: "fs", scope: '{"mount":"/build","access":"write"}', why: "removes files" });
  assert.ok(TOOLS.has("remove"));
  assert.doesNotThrow(() => {
    log.info("line", { a: 1 }, new Error("x"));
    progress(1, 2, "half");
  });
});

test("values last from call to call", () => {
  const visit = asking(() => {
    const visits = Number(kv.getText("visits") ?? 0) + 1;
    kv.set("visits", String(visits));
    kv.set("gone", Uint8Array.of(0));
    assert.deepEqual(kv.get("gone"), Uint8Array.of(0));
    kv.remove("gone");
    assert.deepEqual([kv.exists("visits"), kv.exists("gone"), kv.get("gone")], [true, false, undefined]);
    return [...kv.keys(), String(visits)];
  });
  assert.deepEqual(call(visit).structured, ["visits", "1"]);
  assert.deepEqual(call(visit).structured, ["visits", "2"]);
  values.clear();
  assert.deepEqual(call(visit).structured, ["visits", "1"]);
});

test("more keys than are handed out are too large", () => {
  for (let key = 0; key <= kv.KEYS_MAX; key++) values.set(`k${key}`, Uint8Array.of());
  assert.equal(call(asking(() => kv.keys())).failure?.kind, "too-large");
  values.clear();
});

test("settings are those of the test", () => {
  assert.equal(config.get("units"), undefined);
  settings.set("units", "metric");
  assert.deepEqual([config.get("units"), config.all()], ["metric", { units: "metric" }]);
  settings.clear();
});

test("what became of a call is told, or asked of a person", () => {
  const post = asking(() => "posted");
  const find = (call: Call): Verdict => {
    assert.deepEqual([call.tool, call.idempotencyKey], [post.record.name, "key_test"]);
    switch (call.arguments.text) {
      case "done":
        return happened("posted");
      case "refused":
        return happened(new Failure("conflict", "it is there"));
      case "never":
        return notHappened;
      case "error":
        throw new Error("no way to look");
      case "asks":
        call.askApproval("Did it?");
    }
    return unknown;
  };
  const told = (text: string) => reconciled(find, post, { text });
  const done = told("done");
  assert.ok(done.tag === "happened" && done.val.tag === "ok");
  assert.deepEqual(done.val.val.content[0]?.body, { tag: "text", val: "posted" });
  const refused = told("refused");
  assert.ok(refused.tag === "happened" && refused.val.tag === "err" && refused.val.val.kind === "conflict");
  assert.deepEqual(told("never"), notHappened);
  for (const text of ["error", "asks", ""]) assert.deepEqual(told(text), unknown, text);
});

test("a handler may be async, and its question is asked all the same", async () => {
  const slow = asyncTool({
    name: "slow",
    description: "Waits.",
    input: z.object({ ms: z.number() }),
    async handler({ ms }, call) {
      await new Promise((resume) => setTimeout(resume, ms));
      if (ms === 2) throw new Failure("timeout", "too slow");
      call.askApproval("Really?");
      return "waited";
    },
  });
  const first = await callAsync(slow, { ms: 1 });
  assert.equal(first.pause?.reason, "Really?");
  assert.equal((await first.answerAsync(true)).text, "waited");
  assert.equal((await callAsync(slow, { ms: 2 })).failure?.kind, "timeout");
});
