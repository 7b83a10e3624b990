// Keeps a page up to date and spares a click. Without it every page works the same, as it was when it was loaded.
"use strict";

const EVERY_MS = 60000; // Ages grow without any event.
const main = () => document.getElementById("main");
const news = (text) => { document.getElementById("news").textContent = text; };

let touched = false; // Something was typed: nothing is replaced under it.
let sent = false; // A form is on its way.
let reading = null;
let again = false;

/** The page as it is now, put in the place of what is shown. */
async function refresh() {
  if (sent || !("mark" in main().dataset)) return;
  if (reading) { again = true; return; }
  reading = read();
  await reading;
  reading = null;
  if (again) { again = false; refresh(); }
}

async function read() {
  let answer;
  try {
    answer = await fetch(location.href, { headers: { accept: "text/html" }, redirect: "manual" });
  } catch {
    return news("The server cannot be reached; this is how it was.");
  }
  if (answer.status === 401) return news("The session is over. Log in again with a new link.");
  if (!answer.ok) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  const next = fresh.getElementById("main");
  if (!next || sent) return;
  const changed = next.dataset.mark !== main().dataset.mark;
  if (!changed) return ages(next);
  if (touched) return offer();
  replace(next);
  document.title = fresh.title;
  news(`Updated: ${fresh.title.replace(/ · Pausegate$/, "")}`);
}

/** Nothing that somebody may be about to click is put aside for a minute that passed. */
function ages(next) {
  const [shown, now] = [main(), next].map((page) => [...page.querySelectorAll("time")]);
  if (shown.length === now.length) shown.forEach((time, at) => { time.textContent = now[at].textContent; });
}

/** Focus and what was opened stay. */
function replace(next) {
  const focus = document.activeElement;
  const inside = main().contains(focus) && focus !== main();
  const href = inside && focus.getAttribute("href");
  const open = [...main().querySelectorAll("details[id][open]")].map((details) => details.id);
  main().replaceChildren(...next.childNodes);
  main().dataset.mark = next.dataset.mark;
  for (const id of open) document.getElementById(id)?.setAttribute("open", "");
  if (href) main().querySelector(`a[href="${CSS.escape(href)}"]`)?.focus();
  else if (inside && focus.id) document.getElementById(focus.id)?.focus();
  enhance();
}

/** What was typed is somebody's work: they say when it may go. */
function offer() {
  if (document.getElementById("changed")) return;
  const link = document.createElement("a");
  link.href = location.pathname;
  link.textContent = "See how it is now";
  const told = document.createElement("p");
  told.id = "changed";
  told.className = "told";
  told.append("This changed while you were typing. ", link);
  main().prepend(told);
  news("This changed while you were typing.");
}

/** Buttons that copy, where there is something to copy. */
function enhance() {
  if (!navigator.clipboard) return;
  for (const text of main().querySelectorAll("[data-copy]:not([data-ready])")) {
    text.dataset.ready = "";
    const words = text.textContent;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy quiet";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(words);
      button.textContent = "Copied";
    });
    text.after(button);
  }
}

document.addEventListener("input", () => { touched = true; });
document.addEventListener("submit", (event) => {
  if (sent) return event.preventDefault();
  sent = true;
  event.target.setAttribute("aria-busy", "true");
});
// Back from another page: what the browser kept of this one is as old as that.
window.addEventListener("pageshow", (event) => { if (event.persisted) { sent = false; refresh(); } });

let source = null;
/** A page that nobody looks at listens to nothing: browsers have few connections to one server. */
function listen() {
  if (document.hidden) { source?.close(); source = null; return; }
  if (source || !("mark" in main().dataset)) return;
  source = new EventSource("/api/v1/changes");
  for (const name of ["hello", "reset", "chain", "pause_opened", "pause_voted", "pause_closed"]) source.addEventListener(name, refresh);
}
document.addEventListener("visibilitychange", listen);
setInterval(() => { if (!document.hidden) refresh(); }, EVERY_MS);
enhance();
listen();
