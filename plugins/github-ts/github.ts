/** Issues of a GitHub repository: list them, read one, and open one once a person agrees. */

import { Failure, tool, want } from "pausegate-sdk";
import * as http from "pausegate-sdk/http";
import { z } from "zod";

const API = "https://api.github.com";
/** More is cut off: a model reads what comes back. */
const BODY_LETTERS_MAX = 4000;

want.http(`${API}/repos/*/*/issues`, ["GET"], "lists issues");
want.http(`${API}/repos/*/*/issues/*`, ["GET"], "reads an issue");
want.http(`${API}/repos/*/*/issues`, ["POST"], "opens an issue that a person approved");

/** Two arguments, so that a grant can bind each to a part of the URL. */
const repository = {
  owner: z.string().regex(/^[A-Za-z0-9-]+$/).describe("Whose repository it is, such as `rust-lang`."),
  name: z.string().regex(/^[A-Za-z0-9._-]+$/).describe("The repository's name, such as `rust`."),
};

/** What GitHub says of an issue, as far as it is of use. */
const Issue = z.object({
  number: z.int(),
  title: z.string(),
  state: z.string(),
  html_url: z.string(),
  body: z.string().nullish(),
  pull_request: z.unknown().optional(),
});

function request<T>(method: string, path: string, answer: z.ZodType<T>, body?: unknown): T {
  const headers = { accept: "application/vnd.github+json", "user-agent": "pausegate-github-ts" };
  const said = http.request(method, API + path, body, { headers }).ok().json();
  const read = answer.safeParse(said);
  if (!read.success) throw new Failure("unavailable", `GitHub answered in another form: ${read.error.issues[0]?.message}`);
  return read.data;
}

const line = (issue: z.output<typeof Issue>) => `#${issue.number} ${issue.title} (${issue.state})`;

export const list = tool({
  name: "list",
  description: "Lists issues of a repository, the newest first, without pull requests.",
  effects: "read-only",
  input: z.object({
    ...repository,
    state: z.enum(["open", "closed", "all"]).default("open"),
    count: z.int().min(1).max(100).default(20),
  }),
  handler({ owner, name, state, count }) {
    const issues = request("GET", `/repos/${owner}/${name}/issues?state=${state}&per_page=${count}`, z.array(Issue));
    return issues.filter((issue) => issue.pull_request === undefined).map(line).join("\n") || "no issues";
  },
});

export const read = tool({
  name: "read",
  description: "Reads an issue of a repository.",
  effects: "read-only",
  input: z.object({ ...repository, number: z.int().min(1) }),
  handler({ owner, name, number }) {
    const issue = request("GET", `/repos/${owner}/${name}/issues/${number}`, Issue);
    return `${line(issue)}\n${issue.html_url}\n\n${(issue.body ?? "").slice(0, BODY_LETTERS_MAX)}`;
  },
});

export const open = tool({
  name: "open",
  description: "Opens an issue in a repository, once a person agrees.",
  effects: "once",
  input: z.object({ ...repository, title: z.string().min(1).max(256), body: z.string().default("") }),
  handler({ owner, name, title, body }, call) {
    call.askApproval(`Open the issue “${title}” in ${owner}/${name}`, { context: { title, body } });
    const issue = request("POST", `/repos/${owner}/${name}/issues`, Issue, { title, body });
    return `opened #${issue.number}: ${issue.html_url}`;
  },
});
