/** One attempt at a tool call: what the host gave, and the questions it leads to. */

import type { Answer, Given, Outcome } from "./contract.ts";
import { Failure } from "./failure.ts";
import { approval, approvalKey, choice, form, type Option, other, Pause, type Question, same, textAnswer, type ValueOf } from "./question.ts";
import type { Output, Schema } from "./schema.ts";

/** The most bytes that a pause may save (`wit/plugin.wit`, `pause.state`). */
export const STATE_BYTES_MAX = 64 * 1024;

interface Shown {
  /** A JSON value to show beside the reason. */
  context?: unknown;
}

/**
 * The call that a tool works on: the second parameter of its handler.
 *
 * Each attempt starts anew, so put questions before effects. After a person answered, the tool runs again and the
 * same question returns the answer.
 */
export class Call {
  readonly #given: Given;
  #raised: Pause | null = null;
  #state: Uint8Array | null;

  constructor(given: Given) {
    this.#given = given;
    this.#state = given.state ?? null;
  }

  /** The host's id of this call, the same over its attempts. */
  get id(): string {
    return this.#given.id;
  }
  get tool(): string {
    return this.#given.tool;
  }
  /** The arguments as JSON has them, as they were checked and shown. */
  get arguments(): any {
    return JSON.parse(this.#given.arguments);
  }
  /** 1 for the first attempt. */
  get attempt(): number {
    return this.#given.attempt;
  }
  /** The same over attempts of unchanged arguments: hand it to services that refuse doubles by it. */
  get idempotencyKey(): string {
    return this.#given.idempotencyKey;
  }
  /** How long this attempt may take, counted from its start. */
  get timeLeftMs(): number {
    return this.#given.timeLeftMs;
  }
  /** Whether a person approved exactly these arguments. */
  get approved(): boolean {
    return this.#given.approved;
  }

  /** The newest answer under `key`, with the person's note. `ask` is how to use an answer. */
  answer(key: string): Answer | undefined {
    return this.#given.answers.findLast((answer) => answer.key === key);
  }

  /** The newest answer under `key`, if it answers this question; else asks. */
  ask<A>(key: string, question: Question<A>): A {
    if (this.#raised) throw this.#raised;
    const answer = this.answer(key);
    if (!answer || !same(answer.asked, question.ask)) {
      this.#raised = new Pause(key, question);
      throw this.#raised;
    }
    try {
      return question.read(JSON.parse(answer.value));
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new Failure("invalid-input", `the answer to \`${key}\` does not fit: ${why}`);
    }
  }

  /** Goes on if a person approved this call, by a rule of the operator or by answering this; else asks. */
  askApproval(reason: string, shown: Shown = {}): void {
    // An answer to another question approved the call too, but a yes to one thing is none to another.
    const byRule = this.approved && !this.#given.answers.some((answer) => answer.asked.tag === "approval");
    if (byRule && !this.#raised) return;
    this.ask(approvalKey(reason), approval(reason, shown));
  }

  /** Asks for one of several values. */
  askChoice<const O extends readonly Option[]>(key: string, reason: string, options: O, shown: Shown = {}): ValueOf<O[number]> {
    return this.ask(key, choice(reason, options, shown));
  }

  /** Asks for free text. */
  askText(key: string, reason: string, shown: Shown = {}): string {
    return this.ask(key, textAnswer(reason, shown));
  }

  /** Asks for a value that fits `schema`. */
  askForm<S extends Schema>(key: string, reason: string, schema: S, shown: Shown = {}): Output<S> {
    return this.ask(key, form(reason, schema, shown));
  }

  /** Asks a question of another, namespaced kind. */
  askOther(key: string, reason: string, kind: string, schema: object, shown: Shown = {}): unknown {
    return this.ask(key, other(reason, kind, schema, shown));
  }

  /** Keeps a JSON value for the attempt after the next question. It stays until it is saved anew. */
  save(state: unknown): void {
    const written = JSON.stringify(state);
    if (written === undefined) throw new TypeError(`a ${typeof state} cannot be saved`);
    const bytes = new TextEncoder().encode(written);
    if (bytes.length > STATE_BYTES_MAX) {
      throw new Failure("too-large", `the state to save is ${bytes.length} bytes, at most ${STATE_BYTES_MAX} are kept`);
    }
    this.#state = bytes;
  }

  /** What was saved last, in this attempt or before the last question. */
  state<T = unknown>(): T | undefined {
    return this.#state ? JSON.parse(new TextDecoder().decode(this.#state)) : undefined;
  }

  /** How the attempt ends: with its question, if there is one, whatever the tool made of it. */
  end(run: () => Outcome): Outcome {
    const outcome = run();
    return this.#raised ? { tag: "pause", val: { ...this.#raised.pause, state: this.#state } } : outcome;
  }
}
