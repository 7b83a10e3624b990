#!/usr/bin/env node
/**
 * Builds and tests plugins.
 *
 *   pausegate-js build PLUGIN.ts [-o FILE.wasm] [--engine NAME]    makes a component
 *   pausegate-js test FILE.test.ts…                runs tests under node, without a host
 */

import { spawnSync } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

import * as esbuild from "esbuild";

import { ENGINES, engineOf } from "./engines.mjs";
import { addHeldPackages } from "./held-names.mjs";

const sdk = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");

/** Names of modules that only a component has. */
const HOST = /^(wasi|held|pausegate):/;

/** zod's messages in some fifty languages are most of its size; a plugin speaks to a model. */
const englishOnly = {
  name: "english-only",
  setup(build) {
    build.onLoad({ filter: /zod[/\\]v4[/\\]locales[/\\]index\.js$/ }, () => ({ contents: 'export { default as en } from "./en.js";' }));
  },
};

/** In a test the modules of `host` give way to those of `host-node`. */
const withoutHost = {
  name: "without-host",
  setup(build) {
    build.onResolve({ filter: /[/\\]host[/\\]\w+\.ts$/ }, (given) => {
      const wanted = path.resolve(given.resolveDir, given.path);
      const twin = path.join(sdk, "src/host-node", path.basename(wanted));
      return path.dirname(wanted) === path.join(sdk, "src/host") ? { path: twin } : undefined;
    });
  },
};

/** `pausegate-sdk` is this folder, whether it is installed or not; its own modules find its own dependencies. */
const thisSdk = {
  name: "this-sdk",
  setup(build) {
    const { exports } = JSON.parse(fs.readFileSync(path.join(sdk, "package.json"), "utf8"));
    build.onResolve({ filter: /^pausegate-sdk(\/|$)/ }, ({ path: name }) => {
      const found = exports[name.replace("pausegate-sdk", ".")];
      return found ? { path: path.join(sdk, found) } : { errors: [{ text: `\`${name}\` is not part of the SDK` }] };
    });
    build.onResolve({ filter: /^zod(\/|$)/ }, (given) => {
      // One zod for plugin and SDK: a schema made by another copy would not be known as one.
      if (given.pluginData === sdk) return undefined;
      return build.resolve(given.path, { resolveDir: sdk, kind: given.kind, pluginData: sdk });
    });
  },
};

/** In a component the host's modules stay imports, and the SDK's own ends are found. */
const forHost = (engine) => ({
  name: "for-host",
  setup(build) {
    build.onResolve({ filter: /^pausegate-sdk\/(globals|export|export-async|reconcile-export)$/ }, ({ path: name }) => ({
      path: path.join(sdk, `src/${path.basename(name)}.ts`),
    }));
    build.onResolve({ filter: HOST }, ({ path: name, pluginData }) =>
      pluginData === HOST || !engine.runsPromises ? { path: engine.imported(name), external: true } : { path: name, namespace: "host" },
    );
    // StarlingMonkey's modules of the host have no default export.
    build.onLoad({ filter: HOST, namespace: "host" }, ({ path: name }) => ({
      contents: `import * as host from ${JSON.stringify(name)}; export default host;`,
      pluginData: HOST,
    }));
  },
});

async function bundle(file, around, options) {
  const contents = [...around.before, `import ${JSON.stringify("./" + path.basename(file))};`, ...around.after].join("\n");
  return esbuild.build({
    stdin: { contents, resolveDir: path.dirname(path.resolve(file)), loader: "ts" },
    bundle: true,
    format: "esm",
    write: false,
    metafile: true,
    charset: "utf8",
    logLevel: "error",
    ...options,
    plugins: [...options.plugins, englishOnly, thisSdk],
  });
}

async function build(plugin, output, engine) {
  const bundled = (...exported) => {
    const after = exported.map(([name, from]) => `export { ${name} } from "pausegate-sdk/${from}";`);
    const around = { before: ['import "pausegate-sdk/globals";'], after };
    return bundle(plugin, around, { minify: true, keepNames: true, target: "es2023", plugins: [forHost(engine)] });
  };
  const tools = ["tools", engine.exports];
  let made = await bundled(tools);
  const uses = (name) => Object.keys(made.metafile.inputs).some((input) => path.resolve(input) === path.join(sdk, `src/${name}.ts`));
  if (uses("async") && !engine.runsPromises) {
    throw new Error('QuickJS runs no promises: `"pausegate": { "engine": "starlingmonkey" }` in package.json, or `tool` for `asyncTool`');
  }
  const exports = [];
  // The contract's optional part is exported by plugins that have it.
  if (uses("reconcile")) {
    made = await bundled(tools, ["reconcile", "reconcile-export"]);
    exports.push("reconcile");
  }
  const imports = Object.values(made.metafile.outputs).flatMap((file) => file.imports.map((found) => found.path));
  return inScratch(async (scratch) => {
    const wit = writeWorld(scratch, imports.filter((name) => HOST.test(name)), exports);
    const js = path.join(scratch, "plugin.js");
    fs.writeFileSync(js, made.outputFiles[0].contents);
    const component = await engine.componentize({ sdk, plugin, wit, js, scratch });
    if (!component) return 1;
    replace(output, component);
    return 0;
  });
}

/** In one step: a host that watches the folder never sees half a file. */
function replace(file, bytes) {
  const folder = path.dirname(path.resolve(file));
  fs.mkdirSync(folder, { recursive: true });
  const beside = path.join(folder, `.${path.basename(file)}.new`);
  fs.writeFileSync(beside, bytes);
  fs.renameSync(beside, file);
}

async function inScratch(work) {
  const scratch = fs.mkdtempSync(path.join(os.tmpdir(), "pausegate-js-"));
  try {
    return await work(scratch);
  } finally {
    fs.rmSync(scratch, { recursive: true, force: true });
  }
}

/** A world with the imports that the bundle has and no more, and what it exports beside `tools`. */
function writeWorld(scratch, imports, exports) {
  const wit = path.join(scratch, "wit");
  // A link in the repository, a copy in the package.
  const from = ["wit", "packed-wit"].map((name) => path.join(sdk, name)).find((name) => fs.existsSync(name));
  fs.cpSync(fs.realpathSync(from), wit, { recursive: true });
  addHeldPackages(wit);
  const lines = [...new Set(imports)].filter((name) => !name.startsWith("pausegate:")).map((name) => `  import ${name};\n`);
  lines.push(...exports.map((name) => `  export ${name};\n`));
  fs.appendFileSync(path.join(wit, "plugin.wit"), `\nworld made {\n  include plugin;\n${lines.join("")}}\n`);
  return wit;
}

async function test(files) {
  return inScratch(async (scratch) => {
    const bundles = [];
    for (const file of files) {
      const options = { platform: "node", target: "node20", sourcemap: "inline", plugins: [withoutHost] };
      const made = await bundle(file, { before: [], after: [] }, options);
      const into = path.join(scratch, `${bundles.length}-${path.basename(file).replace(/\.\w+$/, "")}.mjs`);
      fs.writeFileSync(into, made.outputFiles[0].contents);
      bundles.push(into);
    }
    return spawnSync(process.execPath, ["--enable-source-maps", "--test", ...bundles], { stdio: "inherit" }).status ?? 1;
  });
}

const usage = "usage: pausegate-js build PLUGIN.ts [-o FILE.wasm] [--engine NAME] | pausegate-js test FILE.test.ts…";

async function main() {
  const { values, positionals } = parseArgs({ allowPositionals: true, options: { output: { type: "string", short: "o" }, engine: { type: "string" } } });
  const [command, ...files] = positionals;
  const missing = files.find((file) => !fs.existsSync(file));
  if (missing) {
    console.error(`there is no file \`${missing}\``);
    return 66;
  }
  if (command === "build" && files.length === 1) {
    const engine = values.engine ? ENGINES[values.engine] : engineOf(files[0]);
    if (engine) return build(files[0], values.output ?? files[0].replace(/\.\w+$/, ".wasm"), engine);
  }
  if (command === "test" && files.length > 0) return test(files);
  console.error(usage);
  return 64;
}

try {
  process.exitCode = await main();
} catch (error) {
  // esbuild has said what is wrong with the plugin.
  if (!error?.errors) console.error(error?.message ?? error);
  process.exitCode = 1;
}
