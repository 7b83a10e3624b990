/** Outside the sandbox a test makes the settings. */
export const settings = new Map<string, string>();

export function all(): [string, string][] {
  return [...settings];
}
