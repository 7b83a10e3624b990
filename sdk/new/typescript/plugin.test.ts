import assert from "node:assert/strict";
import { test } from "node:test";

import { call } from "pausegate-sdk/testing";

import { greet, send } from "./plugin.ts";

test("a greeting has the name", () => {
  assert.equal(call(greet, { name: "Ada" }).text, "Hello, Ada!");
});

test("nothing is sent unasked", () => {
  const first = call(send, { name: "Ada" });
  assert.equal(first.pause?.reason, "Send a greeting to Ada");
  assert.equal(first.answer(true).text, "greeted Ada");
});
