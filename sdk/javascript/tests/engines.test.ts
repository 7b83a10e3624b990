/** Which engine a project's component brings. */

import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { test } from "node:test";

// @ts-expect-error: a program of the build, without types.
import { ENGINES, engineOf } from "../bin/engines.mjs";

test("the project says which engine it wants, and QuickJS is the one unless told", () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "pausegate-engines-"));
  const engine = (manifest?: object) => {
    if (manifest) fs.writeFileSync(path.join(folder, "package.json"), JSON.stringify(manifest));
    return engineOf(path.join(folder, "plugin.ts"));
  };
  assert.equal(engine(), ENGINES.quickjs);
  assert.equal(engine({ name: "tidy" }), ENGINES.quickjs);
  assert.equal(engine({ pausegate: { engine: "starlingmonkey" } }), ENGINES.starlingmonkey);
  assert.throws(() => engine({ pausegate: { engine: "v8" } }), /no engine is named `v8`; there are quickjs, starlingmonkey/);
  assert.throws(() => engine({ pausegate: { engine: "toString" } }), /no engine is named/);
  fs.rmSync(folder, { recursive: true });
});
