/** Runs without a host; the test answers the requests. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Response, type Request } from "pausegate-sdk/http";
import { answerRequests, call } from "pausegate-sdk/testing";

import { list, open, read } from "./github.ts";

const issue = { number: 7, title: "It breaks", state: "open", html_url: "https://github.com/a/b/issues/7", body: "Often." };
let asked: Request[] = [];

function answer(status: number, value: unknown): void {
  asked = [];
  answerRequests((request) => {
    asked.push(request);
    return new Response(status, [], JSON.stringify(value));
  });
}

test("issues are listed without pull requests", () => {
  answer(200, [issue, { ...issue, number: 8, pull_request: {} }]);
  assert.equal(call(list, { owner: "a", name: "b" }).text, "#7 It breaks (open)");
  assert.equal(asked[0]?.url, "https://api.github.com/repos/a/b/issues?state=open&per_page=20");
});

test("an issue is read", () => {
  answer(200, issue);
  assert.equal(call(read, { owner: "a", name: "b", number: 7 }).text, "#7 It breaks (open)\nhttps://github.com/a/b/issues/7\n\nOften.");
});

test("an issue is opened only when a person agrees", () => {
  answer(201, issue);
  const first = call(open, { owner: "a", name: "b", title: "It breaks" });
  assert.equal(first.pause?.reason, "Open the issue “It breaks” in a/b");
  assert.equal(asked.length, 0);
  assert.equal(first.answer(true).text, "opened #7: https://github.com/a/b/issues/7");
  assert.equal(asked[0]?.method, "POST");
});

test("what GitHub refuses is said with its kind", () => {
  answer(404, { message: "Not Found" });
  assert.equal(call(read, { owner: "a", name: "b", number: 1 }).failure?.kind, "not-found");
  answer(200, { message: "odd" });
  assert.equal(call(read, { owner: "a", name: "b", number: 1 }).failure?.kind, "unavailable");
});

test("a repository is an owner and a name", () => {
  assert.equal(call(list, { owner: "..", name: "user" }).failure?.kind, "invalid-input");
});
