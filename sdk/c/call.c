/* One attempt at a call: its arguments, its result, and the questions it leads to. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"

typedef struct memory {
  struct memory *next;
  max_align_t data[];
} memory;

struct pg_call {
  const pg_given *given;
  const pg_tool *tool;
  memory *memory;
  yyjson_doc *arguments;
  yyjson_mut_doc *doc;
  /* Documents that were read for the call: answers, fallbacks, state. */
  yyjson_doc *read[PG_PARAMETERS_MAX + 64];
  size_t read_count;
  yyjson_val *fallbacks[PG_PARAMETERS_MAX];
  pg_piece pieces[PG_PIECES_MAX];
  pg_bytes context, state;
  bool failed, paused, happened, not_happened;
  pg_outcome outcome;
};

/* ---- memory ---- */

void *pg_alloc(pg_call *call, size_t bytes) {
  memory *made = malloc(sizeof(memory) + bytes);
  /* Out of memory ends the attempt; the host words it. */
  if (!made) abort();
  made->next = call->memory;
  call->memory = made;
  return made->data;
}

static pg_bytes copy(pg_call *call, const char *text, size_t length) {
  char *made = pg_alloc(call, length + 1);
  if (length) memcpy(made, text, length);
  made[length] = 0;
  return (pg_bytes){made, length};
}

static pg_bytes print(pg_call *call, const char *format, va_list values) {
  va_list again;
  va_copy(again, values);
  int length = vsnprintf(NULL, 0, format, again);
  va_end(again);
  if (length < 0) return copy(call, "?", 1);
  char *made = pg_alloc(call, (size_t)length + 1);
  vsnprintf(made, (size_t)length + 1, format, values);
  return (pg_bytes){made, (size_t)length};
}

const char *pg_format(pg_call *call, const char *format, ...) {
  va_list values;
  va_start(values, format);
  pg_bytes made = print(call, format, values);
  va_end(values);
  return made.text;
}

static yyjson_val *read_json(pg_call *call, const char *text, size_t length) {
  if (call->read_count == sizeof call->read / sizeof *call->read) return NULL;
  yyjson_doc *doc = yyjson_read(text, length, 0);
  if (!doc) return NULL;
  call->read[call->read_count++] = doc;
  return yyjson_doc_get_root(doc);
}

/* As JSON text that belongs to the call. NULL for what JSON cannot say, such as a NaN. */
static pg_bytes write_json(pg_call *call, yyjson_mut_val *value) {
  size_t length = 0;
  char *text = yyjson_mut_val_write(value, 0, &length);
  if (!text) return (pg_bytes){0};
  pg_bytes made = copy(call, text, length);
  free(text);
  return made;
}

pg_call *pg_call_new(const pg_given *given) {
  pg_call *call = calloc(1, sizeof *call);
  if (!call) abort();
  call->given = given;
  call->state = given->state;
  call->outcome.effect = "none";
  return call;
}

void pg_call_free(pg_call *call) {
  for (memory *each = call->memory; each;) {
    memory *next = each->next;
    free(each);
    each = next;
  }
  for (size_t at = 0; at < call->read_count; at++) yyjson_doc_free(call->read[at]);
  yyjson_doc_free(call->arguments);
  yyjson_mut_doc_free(call->doc);
  free(call);
}

/* ---- arguments ---- */

static yyjson_val *given_argument(const pg_call *call, const char *name) {
  yyjson_val *found = yyjson_obj_get(yyjson_doc_get_root(call->arguments), name);
  for (size_t at = 0; call->tool->parameters && call->tool->parameters[at].name; at++) {
    const pg_parameter *parameter = &call->tool->parameters[at];
    if (strcmp(parameter->name, name) != 0) continue;
    /* Null stands for what is left out, except where anything is wanted. */
    bool left_out = !found || (yyjson_is_null(found) && parameter->type != PG_ANY);
    return left_out ? call->fallbacks[at] : found;
  }
  return NULL;
}

yyjson_val *pg_value(const pg_call *call, const char *name) { return given_argument(call, name); }

bool pg_has(const pg_call *call, const char *name) { return given_argument(call, name) != NULL; }

const char *pg_string(const pg_call *call, const char *name) {
  const char *text = yyjson_get_str(given_argument(call, name));
  return text ? text : "";
}

int64_t pg_integer(const pg_call *call, const char *name) { return (int64_t)yyjson_get_num(given_argument(call, name)); }

double pg_number(const pg_call *call, const char *name) { return yyjson_get_num(given_argument(call, name)); }

bool pg_boolean(const pg_call *call, const char *name) { return yyjson_get_bool(given_argument(call, name)); }

static bool is_integer(yyjson_val *value) {
  if (yyjson_is_int(value)) return true;
  double number = yyjson_get_num(value);
  return yyjson_is_real(value) && number == floor(number) && fabs(number) <= 9007199254740991.0;
}

static bool fits(yyjson_val *value, pg_type type) {
  switch (type) {
    case PG_STRING: return yyjson_is_str(value);
    case PG_INTEGER: return is_integer(value);
    case PG_NUMBER: return yyjson_is_num(value);
    case PG_BOOLEAN: return yyjson_is_bool(value);
    case PG_ARRAY: return yyjson_is_arr(value);
    case PG_OBJECT: return yyjson_is_obj(value);
    case PG_ANY: return true;
  }
  return false;
}

static const char *type_name(pg_type type) {
  static const char *const names[] = {"", "string", "integer", "number", "boolean", "array", "object", "value"};
  return names[type];
}

static bool known(const pg_tool *tool, const char *name) {
  for (const pg_parameter *each = tool->parameters; each && each->name; each++)
    if (strcmp(each->name, name) == 0) return true;
  return false;
}

/* The host checked them against the schema; this is the same for tests, and for the C types. */
static bool read_arguments(pg_call *call) {
  const pg_bytes text = call->given->arguments;
  call->arguments = yyjson_read(text.text, text.length, 0);
  yyjson_val *root = yyjson_doc_get_root(call->arguments);
  if (!yyjson_is_obj(root)) return pg_fail(call, "invalid-input", "the arguments are not an object"), false;
  size_t at, count;
  yyjson_val *key, *value;
  yyjson_obj_foreach(root, at, count, key, value) {
    if (!known(call->tool, yyjson_get_str(key))) return pg_fail(call, "invalid-input", "`%s` is not known", yyjson_get_str(key)), false;
  }
  for (at = 0; call->tool->parameters && call->tool->parameters[at].name; at++) {
    const pg_parameter *parameter = &call->tool->parameters[at];
    if (parameter->fallback) call->fallbacks[at] = read_json(call, parameter->fallback, strlen(parameter->fallback));
    value = yyjson_obj_get(root, parameter->name);
    bool may_miss = parameter->optional || parameter->fallback;
    if (!value || (yyjson_is_null(value) && may_miss)) {
      if (!may_miss) return pg_fail(call, "invalid-input", "`%s` is missing", parameter->name), false;
      continue;
    }
    if (!fits(value, parameter->type))
      return pg_fail(call, "invalid-input", "`%s`: expected %s, got %s", parameter->name, type_name(parameter->type), yyjson_get_type_desc(value)), false;
  }
  return true;
}

/* ---- the call ---- */

const char *pg_id(const pg_call *call) { return call->given->id; }
const char *pg_tool_name(const pg_call *call) { return call->given->tool; }
uint32_t pg_attempt(const pg_call *call) { return call->given->attempt; }
const char *pg_idempotency_key(const pg_call *call) { return call->given->idempotency_key; }
uint32_t pg_time_left_ms(const pg_call *call) { return call->given->time_left_ms; }
bool pg_approved(const pg_call *call) { return call->given->approved; }
bool pg_ended(const pg_call *call) { return call->failed || call->paused; }

/* ---- results ---- */

static void add(pg_call *call, pg_piece piece) {
  if (call->outcome.pieces_count == PG_PIECES_MAX) {
    pg_fail(call, "too-large", "a result has at most %d pieces", PG_PIECES_MAX);
    return;
  }
  call->pieces[call->outcome.pieces_count++] = piece;
}

void pg_text(pg_call *call, const char *format, ...) {
  va_list values;
  va_start(values, format);
  pg_bytes made = print(call, format, values);
  va_end(values);
  add(call, (pg_piece){PG_PIECE_TEXT, NULL, made});
}

void pg_text_bytes(pg_call *call, const char *text, size_t length) {
  add(call, (pg_piece){PG_PIECE_TEXT, NULL, copy(call, text, length)});
}

void pg_json(pg_call *call, yyjson_mut_val *value) {
  pg_bytes made = write_json(call, value);
  if (!made.text) pg_fail(call, "failed", "the result cannot be written as JSON");
  add(call, (pg_piece){PG_PIECE_JSON, NULL, made});
}

void pg_blob(pg_call *call, const char *media_type, const void *data, size_t length) {
  const char *type = copy(call, media_type, strlen(media_type)).text;
  add(call, (pg_piece){PG_PIECE_BLOB, type, copy(call, data, length)});
}

yyjson_mut_doc *pg_doc(pg_call *call) {
  if (!call->doc) call->doc = yyjson_mut_doc_new(NULL);
  if (!call->doc) abort();
  return call->doc;
}

static bool is_kind(const char *kind) {
  static const char *const kinds[] = {"invalid-input", "not-found",   "denied",    "auth-required", "timeout",
                                      "rate-limited",  "unavailable", "too-large", "conflict",      "failed"};
  for (size_t at = 0; at < sizeof kinds / sizeof *kinds; at++)
    if (strcmp(kind, kinds[at]) == 0) return true;
  return false;
}

void pg_fail(pg_call *call, const char *kind, const char *format, ...) {
  va_list values;
  va_start(values, format);
  pg_bytes made = print(call, format, values);
  va_end(values);
  if (call->failed) return;
  call->failed = true;
  /* A kind that the contract does not know would hide the message. */
  call->outcome.kind = is_kind(kind) ? copy(call, kind, strlen(kind)).text : "failed";
  call->outcome.message = made.text;
}

void pg_fail_errno(pg_call *call, const char *what) {
  int error = errno;
  const char *kind = "failed";
  switch (error) {
    case ENOENT: kind = "not-found"; break;
    case EACCES: case EPERM: case EROFS: kind = "denied"; break;
#ifdef ENOTCAPABLE
    case ENOTCAPABLE: kind = "denied"; break;
#endif
    case EEXIST: case ENOTEMPTY: kind = "conflict"; break;
    case EINVAL: case EISDIR: case ENOTDIR: case ENAMETOOLONG: kind = "invalid-input"; break;
    case ETIMEDOUT: kind = "timeout"; break;
    case EFBIG: case ENOSPC: case EDQUOT: kind = "too-large"; break;
    default: break;
  }
  pg_fail(call, kind, "%s: %s", what, strerror(error));
}

void pg_retry_after_ms(pg_call *call, uint32_t wait) {
  call->outcome.has_retry_after = true;
  call->outcome.retry_after_ms = wait;
}

void pg_effect(pg_call *call, const char *effect) {
  bool known = strcmp(effect, "maybe") == 0 || strcmp(effect, "happened") == 0 || strcmp(effect, "none") == 0;
  call->outcome.effect = known ? copy(call, effect, strlen(effect)).text : "maybe";
}

/* ---- questions ---- */

static bool same_text(const char *a, const char *b) { return a == b || (a && b && strcmp(a, b) == 0); }

static bool same_schema(const char *a, const char *b) {
  if (same_text(a, b)) return true;
  if (!a || !b) return false;
  /* As values: the host may have written them anew. */
  yyjson_doc *left = yyjson_read(a, strlen(a), 0), *right = yyjson_read(b, strlen(b), 0);
  bool same = left && right && yyjson_equals(yyjson_doc_get_root(left), yyjson_doc_get_root(right));
  yyjson_doc_free(left);
  yyjson_doc_free(right);
  return same;
}

static bool same_ask(const pg_ask *a, const pg_ask *b) {
  if (a->is != b->is || a->count != b->count) return false;
  for (size_t at = 0; at < a->count; at++)
    if (!same_text(a->choices[at].value, b->choices[at].value) || !same_text(a->choices[at].label, b->choices[at].label)) return false;
  return same_text(a->kind, b->kind) && same_schema(a->schema, b->schema);
}

/* The newest answer under `key`, if it answers this question; else the attempt ends with the question. */
static yyjson_val *ask(pg_call *call, const char *key, const char *reason, pg_ask asking) {
  if (pg_ended(call)) return NULL;
  for (size_t at = call->given->answers_count; at-- > 0;) {
    const pg_answer *answer = &call->given->answers[at];
    if (strcmp(answer->key, key) != 0) continue;
    if (!same_ask(&answer->asked, &asking)) break;
    yyjson_val *value = read_json(call, answer->value.text, answer->value.length);
    if (!value) pg_fail(call, "invalid-input", "the answer to `%s` cannot be read", key);
    return value;
  }
  call->paused = true;
  call->outcome.key = copy(call, key, strlen(key)).text;
  call->outcome.reason = copy(call, reason, strlen(reason)).text;
  call->outcome.context = call->context;
  pg_choice *choices = pg_alloc(call, sizeof(pg_choice) * (asking.count + 1));
  for (size_t at = 0; at < asking.count; at++) {
    const pg_choice *each = &asking.choices[at];
    choices[at].value = copy(call, each->value, strlen(each->value)).text;
    choices[at].label = each->label ? copy(call, each->label, strlen(each->label)).text : NULL;
  }
  asking.choices = choices;
  if (asking.kind) asking.kind = copy(call, asking.kind, strlen(asking.kind)).text;
  if (asking.schema) asking.schema = copy(call, asking.schema, strlen(asking.schema)).text;
  call->outcome.ask = asking;
  return NULL;
}

/* The answer, if `fine`; else a failure that says so. */
static bool fit_answer(pg_call *call, const char *key, yyjson_val *value, bool fine) {
  if (value && !fine) pg_fail(call, "invalid-input", "the answer to `%s` does not fit", key);
  return value && fine;
}

/* FNV-1a, the same in every language. The key holds the reason, so that a yes to one thing is none to another. */
static const char *approval_key(pg_call *call, const char *reason) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const unsigned char *byte = (const unsigned char *)reason; *byte; byte++) hash = (hash ^ *byte) * 0x100000001b3u;
  return pg_format(call, "approval-%08x%08x", (unsigned)(hash >> 32), (unsigned)hash);
}

static bool approved_by_rule(const pg_call *call) {
  /* An answer to another question approved the call too, but a yes to one thing is none to another. */
  for (size_t at = 0; at < call->given->answers_count; at++)
    if (call->given->answers[at].asked.is == PG_ASK_APPROVAL) return false;
  return call->given->approved;
}

bool pg_ask_approval(pg_call *call, const char *format, ...) {
  va_list values;
  va_start(values, format);
  const char *reason = print(call, format, values).text;
  va_end(values);
  if (pg_ended(call)) return false;
  if (approved_by_rule(call)) return true;
  const char *key = approval_key(call, reason);
  yyjson_val *value = ask(call, key, reason, (pg_ask){.is = PG_ASK_APPROVAL});
  return fit_answer(call, key, value, yyjson_is_true(value));
}

const char *pg_ask_choice(pg_call *call, const char *key, const char *reason, const pg_choice *choices, size_t count) {
  if (count > PG_CHOICES_MAX) {
    pg_fail(call, "too-large", "a question has at most %d choices", PG_CHOICES_MAX);
    return NULL;
  }
  yyjson_val *value = ask(call, key, reason, (pg_ask){.is = PG_ASK_CHOICE, .choices = choices, .count = count});
  const char *text = yyjson_get_str(value);
  bool among = false;
  for (size_t at = 0; text && at < count; at++) among |= strcmp(text, choices[at].value) == 0;
  return fit_answer(call, key, value, among) ? text : NULL;
}

const char *pg_ask_text(pg_call *call, const char *key, const char *reason) {
  yyjson_val *value = ask(call, key, reason, (pg_ask){.is = PG_ASK_TEXT});
  return fit_answer(call, key, value, yyjson_is_str(value)) ? yyjson_get_str(value) : NULL;
}

yyjson_val *pg_ask_form(pg_call *call, const char *key, const char *reason, const char *schema) {
  return ask(call, key, reason, (pg_ask){.is = PG_ASK_FORM, .schema = schema});
}

yyjson_val *pg_ask_other(pg_call *call, const char *key, const char *reason, const char *kind, const char *schema) {
  return ask(call, key, reason, (pg_ask){.is = PG_ASK_OTHER, .kind = kind, .schema = schema});
}

void pg_context(pg_call *call, yyjson_mut_val *value) { call->context = write_json(call, value); }

void pg_save(pg_call *call, yyjson_mut_val *value) {
  pg_bytes made = write_json(call, value);
  if (!made.text) {
    pg_fail(call, "failed", "the state cannot be written as JSON");
  } else if (made.length > PG_STATE_BYTES_MAX) {
    pg_fail(call, "too-large", "the state to save is %zu bytes, at most %d are kept", made.length, PG_STATE_BYTES_MAX);
  } else {
    call->state = made;
  }
}

yyjson_val *pg_state(pg_call *call) {
  return call->state.text ? read_json(call, call->state.text, call->state.length) : NULL;
}

/* ---- lines, requests ---- */

void pg_log(pg_level level, const char *format, ...) {
  pg_given nothing = {0};
  pg_call *line = pg_call_new(&nothing);
  va_list values;
  va_start(values, format);
  pg_bytes made = print(line, format, values);
  va_end(values);
  pg_host_log(level, made.text, made.length);
  pg_call_free(line);
}

void pg_progress(double done, double total, const char *message) { pg_host_progress(done, total, message); }

const pg_response *pg_http(pg_call *call, const pg_request *request) { return pg_host_http(call, request); }

/* ---- running ---- */

static const pg_tool *find(const pg_plugin *plugin, const char *name) {
  for (const pg_tool *tool = plugin->tools; tool && tool->name; tool++)
    if (strcmp(tool->name, name) == 0) return tool;
  return NULL;
}

static void run(pg_call *call, const pg_plugin *plugin, void (*by)(pg_call *call)) {
  call->tool = find(plugin, call->given->tool);
  if (!call->tool)
    pg_fail(call, "not-found", "no tool named `%s`", call->given->tool);
  else if (read_arguments(call))
    (by ? by : call->tool->run)(call);
}

pg_outcome pg_call_run(pg_call *call, const pg_plugin *plugin) {
  run(call, plugin, NULL);
  call->outcome.pieces = call->pieces;
  call->outcome.state = call->state;
  /* A question counts, whatever came after it; it cannot come after a failure. */
  call->outcome.is = call->paused ? PG_PAUSED : call->failed ? PG_FAILED : PG_DONE;
  return call->outcome;
}

void pg_happened(pg_call *call) { call->happened = true; }
void pg_not_happened(pg_call *call) { call->not_happened = true; }

pg_outcome pg_call_find(pg_call *call, const pg_plugin *plugin, void (*find_it)(pg_call *call)) {
  run(call, plugin, find_it);
  call->outcome.pieces = call->pieces;
  /* A failure before it is known that it happened is one of looking; what says both says nothing. */
  if (call->paused || call->happened == call->not_happened) {
    call->outcome.is = PG_UNKNOWN;
    if (call->failed) pg_log(PG_WARN, "it could not be found out what became of the call: %s", call->outcome.message);
  } else if (call->not_happened) {
    call->outcome.is = call->failed ? PG_UNKNOWN : PG_NOT_HAPPENED;
  } else {
    call->outcome.is = call->failed ? PG_FAILED : PG_DONE;
  }
  return call->outcome;
}
