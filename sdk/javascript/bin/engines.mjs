/**
 * The engines that run a plugin in its component: QuickJS, which is small, and StarlingMonkey, which has web APIs.
 *
 * The project says which: `"pausegate": { "engine": "starlingmonkey" }` in the `package.json` beside the plugin.
 */

import { spawnSync } from "node:child_process";
import * as fs from "node:fs";
import { createRequire } from "node:module";
import * as path from "node:path";
import { pathToFileURL } from "node:url";

import { held, release } from "./held-names.mjs";

const COMPONENTIZE_JS = "@bytecodealliance/componentize-js";
const VERSION = "0.23.0";

/** By name. `exports` is the SDK's module for it, `imported` the name that an import of the host has meanwhile. */
export const ENGINES = {
  quickjs: { exports: "export", imported: held, runsPromises: false, componentize: quickjs },
  starlingmonkey: { exports: "export-async", imported: (name) => name, runsPromises: true, componentize: starlingMonkey },
};

/** The engine of the project that a plugin is in. */
export function engineOf(plugin) {
  const manifest = path.join(path.dirname(path.resolve(plugin)), "package.json");
  const name = fs.existsSync(manifest) ? (JSON.parse(fs.readFileSync(manifest, "utf8")).pausegate?.engine ?? "quickjs") : "quickjs";
  if (!Object.hasOwn(ENGINES, name)) throw new Error(`no engine is named \`${name}\`; there are ${Object.keys(ENGINES).join(", ")}`);
  return ENGINES[name];
}

/** The component, or null where the tool has said why there is none. */
async function quickjs({ sdk, wit, js, scratch }) {
  const wasm = path.join(scratch, "plugin.wasm");
  const cli = createRequire(path.join(sdk, "package.json")).resolve("componentize-qjs/bin/componentize-qjs");
  const run = spawnSync(process.execPath, [cli, "--wit", wit, "--world", "made", "--js", js, "--sync", "--output", wasm], { encoding: "utf8" });
  if (run.status !== 0) {
    process.stderr.write(run.stdout + run.stderr);
    return null;
  }
  return release(fs.readFileSync(wasm));
}

async function starlingMonkey({ plugin, wit, js }) {
  const { componentize } = await import(await installed(plugin));
  // The only part of it that is no import: the component serves no requests.
  const { component } = await componentize({ sourcePath: js, witPath: wit, worldName: "made", disableFeatures: ["fetch-event"] });
  return component;
}

/** The author's own: it and what it needs are some 400 MB, which no plugin for QuickJS has to have. */
async function installed(plugin) {
  for (let folder = path.dirname(path.resolve(plugin)); ; folder = path.dirname(folder)) {
    const manifest = path.join(folder, "node_modules", COMPONENTIZE_JS, "package.json");
    if (fs.existsSync(manifest)) {
      const { exports } = JSON.parse(fs.readFileSync(manifest, "utf8"));
      return pathToFileURL(path.join(path.dirname(manifest), exports.import)).href;
    }
    if (folder === path.dirname(folder)) break;
  }
  const named = process.env.PAUSEGATE_COMPONENTIZE_JS;
  if (named) return pathToFileURL(named).href;
  throw new Error(`StarlingMonkey is missing: \`npm install --save-dev ${COMPONENTIZE_JS}@${VERSION}\``);
}
