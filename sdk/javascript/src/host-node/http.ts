import type { Request, Response } from "../http.ts";

let answer: (request: Request) => Response = () => {
  throw new Error("there is no network outside the sandbox: in a test, use `answerRequests` of `pausegate-sdk/testing`");
};

export function send(request: Request): Response {
  return answer(request);
}

export function answerWith(by: (request: Request) => Response): void {
  answer = by;
}
