export function write(level: string, message: string): void {
  process.stderr.write(`${level}: ${message}\n`);
}

export function report(done: number, total: number | null, message: string): void {
  process.stderr.write(`progress: ${done} of ${total}: ${message}\n`);
}
