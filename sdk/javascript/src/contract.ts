/** The records of `wit/`, in the shape that the component's runtime gives and takes. */

export type Meta = [string, string][];

export interface Option {
  value: string;
  label?: string | null;
}

export type Ask =
  | { tag: "approval" }
  | { tag: "choice"; val: Option[] }
  | { tag: "text" }
  | { tag: "form"; val: string }
  | { tag: "other"; val: { kind: string; schema: string } };

export interface Answer {
  key: string;
  asked: Ask;
  value: string;
  note?: string | null;
  context?: string | null;
  meta: Meta;
}

/** One attempt at a call, as the host gives it. */
export interface Given {
  id: string;
  tool: string;
  arguments: string;
  attempt: number;
  idempotencyKey: string;
  timeLeftMs: number;
  approved: boolean;
  answers: Answer[];
  state?: Uint8Array | null;
  meta: Meta;
}

export interface PauseRecord {
  key: string;
  reason: string;
  context: string | null;
  ask: Ask;
  state: Uint8Array | null;
  meta: Meta;
}

export interface FailureRecord {
  kind: string;
  message: string;
  retryAfterMs: number | null;
  effect: "none" | "maybe" | "happened";
  meta: Meta;
}

export type Body =
  | { tag: "text"; val: string }
  | { tag: "structured"; val: string }
  | { tag: "blob"; val: { mediaType: string; data: Uint8Array } };

export interface Success {
  content: { body: Body; meta: Meta }[];
  meta: Meta;
}

export type Outcome =
  | { tag: "done"; val: Success }
  | { tag: "failed"; val: FailureRecord }
  | { tag: "pause"; val: PauseRecord };

export interface ToolRecord {
  name: string;
  title: string | null;
  description: string;
  inputSchema: string;
  outputSchema: string | null;
  effects: "read-only" | "idempotent" | "once";
  meta: Meta;
}

export interface Want {
  capability: string;
  scope: string;
  why: string;
}
