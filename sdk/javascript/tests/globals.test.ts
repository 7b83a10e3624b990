/** The stand-ins for what the engine lacks, against node's own. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { wellFormed, wellFormedJson } from "../src/wellformed.ts";
import { Utf8Decoder, Utf8Encoder } from "../src/utf8.ts";

const TEXTS = ["", "abc", "Grüße, 世界, 🌍", "\ud800", "a\udc00b", "\ufeffx", "\u0000\u007f\u0080\u07ff\u0800\uffff\u{10000}\u{10ffff}"];

test("text becomes the same bytes", () => {
  for (const text of TEXTS) assert.deepEqual(new Utf8Encoder().encode(text), new Uint8Array(new TextEncoder().encode(text)));
});

test("bytes become the same text", () => {
  const odd = [[0xff], [0xc0, 0x80], [0xe2, 0x82], [0xed, 0xa0, 0x80], [0xf0, 0x9f, 0x8c], [0xf5, 0x80], [0x80, 0x41], [0xe2, 0x41]];
  for (const bytes of [...TEXTS.map((text) => new TextEncoder().encode(text)), ...odd.map((bytes) => Uint8Array.from(bytes))]) {
    assert.equal(new Utf8Decoder().decode(bytes), new TextDecoder().decode(bytes), String(bytes));
  }
});

test("halves of letters are replaced, and nothing else", () => {
  assert.equal(wellFormed("a\ud800b\udc00c🌍"), "a\ufffdb\ufffdc🌍");
  for (const value of ["a\ud800b", "🌍", "\\ud800", '"\\', { "\udfff": 1 }]) {
    assert.deepEqual(JSON.parse(wellFormedJson(JSON.stringify(value))), JSON.parse(JSON.stringify(value).replace(/(?<!\\)\\ud[89a-f]../g, "\ufffd")));
  }
});
