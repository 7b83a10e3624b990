export function all(): [string, string][] {
  return Object.entries(process.env).map(([name, value]) => [name, value ?? ""]);
}
