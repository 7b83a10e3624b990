/**
 * Lets a component import `wasi:http` although componentize-qjs cannot load one that does.
 *
 * While it takes its snapshot it has the real `wasi:io` and a stand-in for `wasi:http` whose streams are of another
 * type, and refuses. So the component is made with `wasi:http` and what it is built on under a name of the same
 * length, for all of which there are stand-ins that agree, and its imports get their own names back afterwards. What
 * `wasi:http` is built on then differs from the engine's own imports by its version: a host has one implementation
 * for both, but no component imports one name twice.
 */

import * as fs from "node:fs";
import * as path from "node:path";

const HELD = /wasi:(http|io|clocks)\b/g;
const VERSION = "0.2.12";
const OTHER_VERSION = "0.2.11";

const IMPORT_SECTION = 10;
const HEADER_BYTES = 8;

/** The name that an import has while the component is made. */
export function held(name) {
  return name.startsWith("wasi:http/") ? hold(name) : name;
}

function hold(text) {
  const renamed = text.replace(HELD, "held:$1");
  return renamed.replace(/(held:(?:io|clocks)(?:\/[\w-]+)?@)(\d+\.\d+\.\d+)/g, (whole, name, version) => (version === VERSION ? name + OTHER_VERSION : whole));
}

/** Adds the packages under their other names. */
export function addHeldPackages(wit) {
  for (const name of ["http", "io", "clocks"]) {
    const text = fs.readFileSync(path.join(wit, `deps/${name}.wit`), "utf8");
    fs.writeFileSync(path.join(wit, `deps/held-${name}.wit`), hold(text));
  }
}

/** The component with the imports' own names. */
export function release(component) {
  const bytes = Buffer.from(component);
  for (let at = HEADER_BYTES; at < bytes.length; ) {
    const id = bytes[at];
    const [size, start] = leb(bytes, at + 1);
    if (id === IMPORT_SECTION) replace(bytes.subarray(start, start + size));
    at = start + size;
  }
  return bytes;
}

function replace(section) {
  const from = Buffer.from("held:");
  for (let at = section.indexOf(from); at >= 0; at = section.indexOf(from, at)) section.write("wasi:", at);
}

function leb(bytes, at) {
  let value = 0;
  for (let shift = 1; ; shift *= 128) {
    const byte = bytes[at++];
    value += (byte & 127) * shift;
    if (byte < 128) return [value, at];
  }
}
