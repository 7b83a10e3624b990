/** Before packing: npm leaves links out of a package, so that `wit` needs a copy that is none. */

import * as fs from "node:fs";
import * as path from "node:path";
import { fileURLToPath } from "node:url";

const sdk = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const from = path.join(sdk, "wit");
const to = path.join(sdk, "packed-wit");

// Installed from the package, there is only the copy.
if (fs.existsSync(from)) {
  fs.rmSync(to, { recursive: true, force: true });
  fs.cpSync(fs.realpathSync(from), to, { recursive: true });
}
