/// <reference path="./imports.d.ts" />

import log from "pausegate:plugin/log@0.1.0";
import progress from "pausegate:plugin/progress@0.1.0";

export function write(level: string, message: string): void {
  log.write(level, message);
}

export function report(done: number, total: number | null, message: string): void {
  progress.report(done, total, message);
}
