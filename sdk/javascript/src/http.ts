/** HTTP requests, as far as the operator granted them. Redirects are handed back, not followed. */

import { Failure, type Kind } from "./failure.ts";
import * as host from "./host/http.ts";

/** The most bytes of a response that are read, unless a request says otherwise. */
export const BODY_BYTES_MAX = 8 * 1024 * 1024;

export interface Request {
  method: string;
  url: string;
  headers: [string, string][];
  body: Uint8Array;
  maxBytes: number;
}

export interface Options {
  headers?: Record<string, string>;
  maxBytes?: number;
}

const KINDS: Record<number, Kind> = {
  401: "auth-required",
  403: "denied",
  404: "not-found",
  408: "timeout",
  409: "conflict",
  413: "too-large",
  429: "rate-limited",
};

export class Response {
  readonly status: number;
  readonly headers: [string, string][];
  readonly body: Uint8Array;
  constructor(status: number, headers: [string, string][] = [], body: Uint8Array | string = new Uint8Array()) {
    this.status = status;
    this.headers = headers;
    this.body = typeof body === "string" ? new TextEncoder().encode(body) : body;
  }

  get text(): string {
    return new TextDecoder().decode(this.body);
  }

  json(): unknown {
    return JSON.parse(this.text);
  }

  header(name: string): string | undefined {
    return this.headers.find(([key]) => key.toLowerCase() === name.toLowerCase())?.[1];
  }

  /** This response, if its status is one of success; else throws a failure of the kind that fits. */
  ok(): this {
    if (this.status >= 200 && this.status < 300) return this;
    const kind = KINDS[this.status] ?? (this.status >= 500 ? "unavailable" : "failed");
    throw new Failure(kind, `the server answered ${this.status}: ${this.text.slice(0, 200)}`);
  }
}

export function get(url: string, options: Options = {}): Response {
  return request("GET", url, undefined, options);
}

export function post(url: string, body?: unknown, options: Options = {}): Response {
  return request("POST", url, body, options);
}

/** `body` is bytes, text, or a value that is sent as JSON. Throws a `Failure` where there is no response. */
export function request(method: string, url: string, body?: unknown, options: Options = {}): Response {
  const headers = Object.entries(options.headers ?? {});
  let bytes = new Uint8Array();
  if (body instanceof Uint8Array) bytes = new Uint8Array(body);
  else if (typeof body === "string") bytes = new Uint8Array(new TextEncoder().encode(body));
  else if (body !== undefined) {
    bytes = new Uint8Array(new TextEncoder().encode(JSON.stringify(body)));
    headers.push(["content-type", "application/json"]);
  }
  return host.send({ method, url, headers, body: bytes, maxBytes: options.maxBytes ?? BODY_BYTES_MAX });
}
