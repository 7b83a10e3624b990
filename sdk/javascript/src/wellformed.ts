/** Text that is UTF-8: half a pair of surrogates, as in `"\\ud800"`, cannot cross to the host. */

import type { Ask, Body, Outcome } from "./contract.ts";

const HALF = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

export function wellFormed(text: string): string {
  return text.replace(HALF, "\ufffd");
}

/** `JSON.stringify` escapes halves, and nothing else of the kind. */
export function wellFormedJson(json: string): string {
  return wellFormed(json.replace(/\\(?:u(d[89a-f][0-9a-f]{2})|.)/g, (whole, half) => (half ? "\ufffd" : whole)));
}

/** The outcome as it can cross. */
export function crossing(outcome: Outcome): Outcome {
  switch (outcome.tag) {
    case "done":
      return { ...outcome, val: { ...outcome.val, content: outcome.val.content.map((piece) => ({ ...piece, body: body(piece.body) })) } };
    case "failed":
      return { ...outcome, val: { ...outcome.val, message: wellFormed(outcome.val.message) } };
    case "pause": {
      const { key, reason, context, ask, ...rest } = outcome.val;
      const shown = context === null ? null : wellFormedJson(context);
      return { ...outcome, val: { ...rest, key: wellFormed(key), reason: wellFormed(reason), context: shown, ask: asked(ask) } };
    }
  }
}

function body(body: Body): Body {
  if (body.tag === "text") return { tag: "text", val: wellFormed(body.val) };
  return body.tag === "structured" ? { tag: "structured", val: wellFormedJson(body.val) } : body;
}

function asked(ask: Ask): Ask {
  if (ask.tag !== "choice") return ask;
  const val = ask.val.map(({ value, label }) => ({ value: wellFormed(value), label: label == null ? null : wellFormed(label) }));
  return { tag: "choice", val };
}
