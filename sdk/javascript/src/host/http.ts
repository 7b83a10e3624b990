/// <reference path="./imports.d.ts" />

/** Requests by `wasi:http`. */

import handler from "wasi:http/outgoing-handler@0.2.12";
import types from "wasi:http/types@0.2.12";

import { Failure, type Kind } from "../failure.ts";
import { type Request, Response } from "../http.ts";

const CHUNK_BYTES = 64 * 1024;
const WRITE_BYTES = 4096;
const METHODS = ["get", "head", "post", "put", "delete", "connect", "options", "trace", "patch"];

/** By the names of WIT's error codes. */
const KINDS: Record<string, Kind> = {
  "HTTP-request-denied": "denied",
  "HTTP-request-URI-invalid": "invalid-input",
  "HTTP-request-method-invalid": "invalid-input",
  "destination-IP-prohibited": "denied",
  "HTTP-request-body-size": "too-large",
  "HTTP-response-body-size": "too-large",
};

export function send(request: Request): Response {
  try {
    return sent(request);
  } catch (error) {
    const code = codeOf(error);
    if (code === null) throw error;
    const kind = KINDS[code] ?? (code.includes("timeout") ? "timeout" : "unavailable");
    throw new Failure(kind, `${request.method} ${request.url}: ${code.replaceAll("-", " ")}`);
  }
}

function sent(request: Request): Response {
  const url = /^(https?):\/\/([^/?#]+)([^?#]*)(\?[^#]*)?/.exec(request.url);
  if (!url) throw new Failure("invalid-input", `${request.url}: not an \`http\` or \`https\` URL`);
  const [, scheme, authority, path, query] = url;
  const headers = request.headers.map(([name, value]) => [name, new TextEncoder().encode(value)]);
  const message = new types.OutgoingRequest(types.Fields.fromList(headers));
  const method = request.method.toLowerCase();
  message.setMethod(METHODS.includes(method) ? { tag: method } : { tag: "other", val: request.method });
  message.setScheme({ tag: scheme === "https" ? "HTTPS" : "HTTP" });
  message.setAuthority(authority);
  message.setPathWithQuery((path || "/") + (query ?? ""));
  const body = message.body();
  const future = handler.handle(message, null);
  writeTo(body, request.body);
  const ready = future.subscribe();
  ready.block();
  ready[Symbol.dispose]();
  const answer = future.get();
  const inner = answer?.tag === "ok" ? answer.val : null;
  if (!inner) throw new Failure("unavailable", `${request.url}: the response went away`);
  if (inner.tag === "err") throw inner.val;
  return received(inner.val, request);
}

function received(response: any, request: Request): Response {
  const headers = response
    .headers()
    .entries()
    .map(([name, value]: [string, Uint8Array]) => [name, new TextDecoder().decode(Uint8Array.from(value))]);
  const body = response.consume();
  const stream = body.stream();
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    let part: Uint8Array;
    try {
      part = Uint8Array.from(stream.blockingRead(CHUNK_BYTES));
    } catch (error) {
      if (tagOf(error) === "closed") break;
      throw new Failure("unavailable", `${request.url}: the response broke off`);
    }
    length += part.length;
    if (length > request.maxBytes) throw new Failure("too-large", `${request.url}: the response is longer than ${request.maxBytes} bytes`);
    chunks.push(part);
  }
  const whole = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  stream[Symbol.dispose]();
  body[Symbol.dispose]();
  return new Response(response.status(), headers, whole);
}

function writeTo(body: any, data: Uint8Array): void {
  const stream = body.write();
  try {
    for (let at = 0; at < data.length; at += WRITE_BYTES) stream.blockingWriteAndFlush(data.subarray(at, at + WRITE_BYTES));
  } catch (error) {
    // A refused request closes its body; what it was refused for is in the response.
    if (tagOf(error) === null) throw error;
  }
  stream[Symbol.dispose]();
  types.OutgoingBody.finish(body, null);
}

/** The name of a WIT error that was thrown, as itself or in an `Error` around it. */
function codeOf(error: unknown): string | null {
  return error instanceof Failure ? null : tagOf(error);
}

function tagOf(error: unknown): string | null {
  const value = (error as { payload?: unknown })?.payload ?? error;
  if (typeof value === "string") return value;
  const tag = (value as { tag?: unknown })?.tag;
  return typeof tag === "string" ? tag : null;
}
