/** What a tool hands back. */

import type { Body, Success } from "./contract.ts";

/** One piece of a result: made by `text`, `json` and `blob`. */
export class Content {
  readonly body: Body;
  constructor(body: Body) {
    this.body = body;
  }
}

/** What a handler may return: nothing, text, one piece or several; all else is a value for programs. */
export type Returned = undefined | void | string | Content | Content[] | unknown;

/** Text for the model. */
export function text(text: string): Content {
  return new Content({ tag: "text", val: String(text) });
}

/** A value for programs; at most one in a result. */
export function json(value: unknown): Content {
  const val = JSON.stringify(value);
  if (val === undefined) throw new TypeError(`a ${typeof value} cannot be written as JSON`);
  return new Content({ tag: "structured", val });
}

/** Bytes with their type, such as `image/png`. */
export function blob(mediaType: string, data: Uint8Array): Content {
  return new Content({ tag: "blob", val: { mediaType, data } });
}

export function success(returned: Returned): Success {
  return { content: pieces(returned).map(({ body }) => ({ body, meta: [] })), meta: [] };
}

function pieces(returned: Returned): Content[] {
  if (returned === undefined) return [];
  if (typeof returned === "string") return [text(returned)];
  if (returned instanceof Content) return [returned];
  if (Array.isArray(returned) && returned.length > 0 && returned.every((piece) => piece instanceof Content)) return returned;
  if (returned instanceof Uint8Array) throw new TypeError("a tool returns bytes as `blob(mediaType, data)`");
  if (typeof (returned as { then?: unknown } | null)?.then === "function") {
    throw new TypeError("a handler is an ordinary function, not an async one: each attempt has an instance to itself");
  }
  return [json(returned)];
}
