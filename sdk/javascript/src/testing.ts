/**
 * Runs a tool without a host, from JSON arguments to outcome.
 *
 * ```ts
 * const first = call(remove, { path: "/build/a.tmp" });
 * assert.equal(first.pause?.reason, "Remove /build/a.tmp");
 * assert.equal(first.answer(true).text, "removed /build/a.tmp");
 * ```
 */

import type { FailureRecord, Given, Outcome, PauseRecord, Success } from "./contract.ts";
import { answerWith } from "./host-node/http.ts";
import type { Request, Response } from "./http.ts";
import { type Find, type Verdict, verdict } from "./reconcile.ts";
import { attempt, attemptAsync, type Tool } from "./tool.ts";

/** What `pausegate-sdk/kv` keeps in tests. */
export { values } from "./host-node/kv.ts";
/** What `pausegate-sdk/config` reads in tests. */
export { settings } from "./host-node/config.ts";

/** How an attempt ended. What it did not end in is `undefined`. */
export class Ended {
  readonly outcome: Outcome;
  readonly #tool: Tool<any>;
  readonly #given: Given;

  constructor(tool: Tool<any>, given: Given, outcome: Outcome = attempt(given, offering(tool))) {
    this.#tool = tool;
    this.#given = given;
    this.outcome = outcome;
  }

  get pause(): PauseRecord | undefined {
    return this.outcome.tag === "pause" ? this.outcome.val : undefined;
  }
  get failure(): FailureRecord | undefined {
    return this.outcome.tag === "failed" ? this.outcome.val : undefined;
  }
  /** The pieces of the result. */
  get content(): Success["content"] | undefined {
    return this.outcome.tag === "done" ? this.outcome.val.content : undefined;
  }
  /** The text of the result. */
  get text(): string | undefined {
    return this.content?.flatMap(({ body }) => (body.tag === "text" ? [body.val] : [])).join("\n");
  }
  /** The value for programs. */
  get structured(): any {
    const found = this.content?.find(({ body }) => body.tag === "structured");
    return found?.body.tag === "structured" ? JSON.parse(found.body.val) : undefined;
  }

  /** The next attempt, after a person answered, with the state that was saved. */
  answer(value: unknown, note: string | null = null): Ended {
    return this.#again(this.#answered(value, note));
  }

  /** The same of a tool whose handler is `async`. */
  answerAsync(value: unknown, note: string | null = null): Promise<Ended> {
    return endedAsync(this.#tool, this.#next(this.#answered(value, note)));
  }

  #answered(value: unknown, note: string | null): Partial<Given> {
    const pause = this.pause;
    if (!pause) throw new Error(`not a question: ${JSON.stringify(this.outcome)}`);
    const answer = { key: pause.key, asked: pause.ask, value: JSON.stringify(value), note, context: pause.context, meta: [] };
    // As the host has it: a yes to a question of the call approves its arguments.
    const approved = this.#given.approved || (pause.ask.tag === "approval" && value === true);
    return { answers: [...this.#given.answers, answer], state: pause.state, approved };
  }

  /** The next attempt, after a person approved the call as a whole. */
  approved(): Ended {
    return this.#again({ approved: true, state: this.pause?.state ?? this.#given.state ?? null });
  }

  #again(changes: Partial<Given>): Ended {
    return new Ended(this.#tool, this.#next(changes));
  }

  #next(changes: Partial<Given>): Given {
    return { ...this.#given, attempt: this.#given.attempt + 1, ...changes };
  }
}

export interface Beginning {
  approved?: boolean;
  /** As if an earlier question had saved it. */
  state?: unknown;
}

/** A first attempt, without approval, answers or state unless told. */
export function call(tool: Tool<any>, args: unknown = {}, beginning: Beginning = {}): Ended {
  return new Ended(tool, first(tool, args, beginning));
}

/** The same of a tool whose handler is `async`. */
export function callAsync(tool: Tool<any>, args: unknown = {}, beginning: Beginning = {}): Promise<Ended> {
  return endedAsync(tool, first(tool, args, beginning));
}

async function endedAsync(tool: Tool<any>, given: Given): Promise<Ended> {
  return new Ended(tool, given, await attemptAsync(given, offering(tool)));
}

function offering(tool: Tool<any>): Map<string, Tool> {
  return new Map([[tool.record.name, tool as Tool]]);
}

/** What the plugin's function says became of a call of `tool`. */
export function reconciled(find: Find, tool: Tool<any>, args: unknown = {}): Verdict {
  return verdict(first(tool, args, {}), find);
}

function first(tool: Tool<any>, args: unknown, { approved = false, state }: Beginning): Given {
  return {
    id: "tc_test",
    tool: tool.record.name,
    arguments: JSON.stringify(args),
    attempt: 1,
    idempotencyKey: "key_test",
    timeLeftMs: 30_000,
    approved,
    answers: [],
    state: state === undefined ? null : new TextEncoder().encode(JSON.stringify(state)),
    meta: [],
  };
}

/** Answers the requests of tools from now on: there is no network. */
export function answerRequests(by: (request: Request) => Response): void {
  answerWith(by);
}
