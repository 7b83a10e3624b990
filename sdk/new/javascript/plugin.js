/** The plugin `%NAME%`. */

import { tool } from "pausegate-sdk";
import { z } from "zod";

export const greet = tool({
  name: "greet",
  description: "Greets someone.",
  effects: "read-only",
  input: z.object({ name: z.string().describe("Whom to greet.") }),
  handler: ({ name }) => `Hello, ${name}!`,
});

export const send = tool({
  name: "send",
  description: "Sends a greeting, once a person has approved it.",
  effects: "once",
  input: z.object({ name: z.string().describe("Whom to greet.") }),
  handler({ name }, call) {
    // Ends the attempt until a person answered; then the handler runs again from its start and gets past it.
    call.askApproval(`Send a greeting to ${name}`);
    return `greeted ${name}`;
  },
});
