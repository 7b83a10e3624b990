/* The component's side: translates between `core.h` and the bindings. Built for WebAssembly alone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host_wasm.h"

/* What crosses to the host is freed by the bindings, so it is a copy. */
static plugin_sdk_string_t string_of(const char *text, size_t length) {
  plugin_sdk_string_t made = {malloc(length ? length : 1), length};
  if (!made.ptr) abort();
  if (length) memcpy(made.ptr, text, length);
  return made;
}

/* The bytes of the letter at `text`, or 0 for bytes that are no letter of UTF-8. */
static size_t letter(const unsigned char *text, size_t length) {
  unsigned char first = text[0];
  size_t bytes = first < 0x80 ? 1 : first >= 0xc2 && first < 0xe0 ? 2 : first >= 0xe0 && first < 0xf0 ? 3 : first >= 0xf0 && first < 0xf5 ? 4 : 0;
  if (bytes == 0 || bytes > length) return 0;
  for (size_t at = 1; at < bytes; at++)
    if ((text[at] & 0xc0) != 0x80) return 0;
  bool overlong = (first == 0xe0 && text[1] < 0xa0) || (first == 0xf0 && text[1] < 0x90);
  bool beyond = (first == 0xed && text[1] > 0x9f) || (first == 0xf4 && text[1] > 0x8f);
  return overlong || beyond ? 0 : bytes;
}

plugin_sdk_string_t pg_valid(const char *text, size_t length) {
  plugin_sdk_string_t made = {malloc(3 * length + 1), 0};
  if (!made.ptr) abort();
  for (size_t at = 0; at < length;) {
    size_t bytes = letter((const unsigned char *)text + at, length - at);
    memcpy(made.ptr + made.len, bytes ? text + at : "\xef\xbf\xbd", bytes ? bytes : 3);
    made.len += bytes ? bytes : 3;
    at += bytes ? bytes : 1;
  }
  return made;
}

static plugin_sdk_string_t string(const char *text) { return pg_valid(text, strlen(text)); }

static plugin_sdk_option_string_t optional(const char *text) {
  plugin_sdk_option_string_t made = {0};
  if (text) made.is_some = true, made.val = string(text);
  return made;
}

/* With a NUL at its end, and never freed: an instance lives for one attempt. */
static const char *text_of(plugin_sdk_string_t given) {
  char *text = malloc(given.len + 1);
  if (!text) abort();
  if (given.len) memcpy(text, given.ptr, given.len);
  text[given.len] = 0;
  return text;
}

static void *array(size_t count, size_t size) {
  void *made = calloc(count ? count : 1, size);
  if (!made) abort();
  return made;
}

/* ---- the catalog ---- */

static pausegate_plugin_types_tool_t tool_of(const pg_tool *tool) {
  static const pausegate_plugin_types_effects_t effects[] = {
      [PG_ONCE] = PAUSEGATE_PLUGIN_TYPES_EFFECTS_ONCE,
      [PG_IDEMPOTENT] = PAUSEGATE_PLUGIN_TYPES_EFFECTS_IDEMPOTENT,
      [PG_READ_ONLY] = PAUSEGATE_PLUGIN_TYPES_EFFECTS_READ_ONLY,
  };
  const char *wrong;
  char *schema = pg_input_schema(tool, &wrong);
  pausegate_plugin_types_tool_t made = {0};
  made.name = string(tool->name);
  made.title = optional(tool->title);
  made.description = string(tool->about);
  made.input_schema = string(schema ? schema : "{}");
  if (tool->output_schema) made.output_schema.is_some = true, made.output_schema.val = string(tool->output_schema);
  made.effects = effects[tool->effects];
  free(schema);
  return made;
}

bool exports_pausegate_plugin_tools_list_tools(exports_pausegate_plugin_tools_catalog_t *ret, exports_pausegate_plugin_tools_failure_t *err) {
  const pg_plugin *plugin = &pg_this_plugin;
  const char *wrong = pg_check_plugin(plugin);
  if (wrong) {
    *err = (exports_pausegate_plugin_tools_failure_t){.kind = string("failed"), .message = string(wrong)};
    return false;
  }
  *ret = (exports_pausegate_plugin_tools_catalog_t){0};
  while (plugin->tools[ret->tools.len].name) ret->tools.len++;
  while (plugin->wants && plugin->wants[ret->wants.len].capability) ret->wants.len++;
  ret->tools.ptr = array(ret->tools.len, sizeof *ret->tools.ptr);
  ret->wants.ptr = array(ret->wants.len, sizeof *ret->wants.ptr);
  for (size_t at = 0; at < ret->tools.len; at++) ret->tools.ptr[at] = tool_of(&plugin->tools[at]);
  for (size_t at = 0; at < ret->wants.len; at++) {
    const pg_want *want = &plugin->wants[at];
    ret->wants.ptr[at] = (pausegate_plugin_types_want_t){string(want->capability), string(want->scope), string(want->why)};
  }
  return true;
}

/* ---- a call ---- */

static pg_ask asked_of(const pausegate_plugin_types_ask_t *given) {
  pg_ask made = {0};
  switch (given->tag) {
    case PAUSEGATE_PLUGIN_TYPES_ASK_APPROVAL: made.is = PG_ASK_APPROVAL; break;
    case PAUSEGATE_PLUGIN_TYPES_ASK_TEXT: made.is = PG_ASK_TEXT; break;
    case PAUSEGATE_PLUGIN_TYPES_ASK_FORM:
      made.is = PG_ASK_FORM;
      made.schema = text_of(given->val.form);
      break;
    case PAUSEGATE_PLUGIN_TYPES_ASK_OTHER:
      made.is = PG_ASK_OTHER;
      made.kind = text_of(given->val.other.kind);
      made.schema = text_of(given->val.other.schema);
      break;
    default: {
      pg_choice *choices = array(given->val.choice.len, sizeof *choices);
      for (size_t at = 0; at < given->val.choice.len; at++) {
        const pausegate_plugin_types_choice_t *each = &given->val.choice.ptr[at];
        choices[at] = (pg_choice){text_of(each->value), each->label.is_some ? text_of(each->label.val) : NULL};
      }
      made = (pg_ask){.is = PG_ASK_CHOICE, .choices = choices, .count = given->val.choice.len};
    }
  }
  return made;
}

static pausegate_plugin_types_ask_t ask_of(const pg_ask *ask) {
  pausegate_plugin_types_ask_t made = {0};
  switch (ask->is) {
    case PG_ASK_APPROVAL: made.tag = PAUSEGATE_PLUGIN_TYPES_ASK_APPROVAL; break;
    case PG_ASK_TEXT: made.tag = PAUSEGATE_PLUGIN_TYPES_ASK_TEXT; break;
    case PG_ASK_FORM:
      made.tag = PAUSEGATE_PLUGIN_TYPES_ASK_FORM;
      made.val.form = string(ask->schema);
      break;
    case PG_ASK_OTHER:
      made.tag = PAUSEGATE_PLUGIN_TYPES_ASK_OTHER;
      made.val.other = (pausegate_plugin_types_question_t){string(ask->kind), string(ask->schema)};
      break;
    case PG_ASK_CHOICE:
      made.tag = PAUSEGATE_PLUGIN_TYPES_ASK_CHOICE;
      made.val.choice.len = ask->count;
      made.val.choice.ptr = array(ask->count, sizeof *made.val.choice.ptr);
      for (size_t at = 0; at < ask->count; at++)
        made.val.choice.ptr[at] = (pausegate_plugin_types_choice_t){string(ask->choices[at].value), optional(ask->choices[at].label)};
      break;
  }
  return made;
}

static pausegate_plugin_types_content_t content_of(const pg_piece *piece) {
  pausegate_plugin_types_content_t made = {0};
  switch (piece->is) {
    case PG_PIECE_TEXT:
      made.body.tag = PAUSEGATE_PLUGIN_TYPES_BODY_TEXT;
      made.body.val.text = pg_valid(piece->bytes.text, piece->bytes.length);
      break;
    case PG_PIECE_JSON:
      made.body.tag = PAUSEGATE_PLUGIN_TYPES_BODY_STRUCTURED;
      made.body.val.structured = string_of(piece->bytes.text, piece->bytes.length);
      break;
    case PG_PIECE_BLOB:
      made.body.tag = PAUSEGATE_PLUGIN_TYPES_BODY_BLOB;
      made.body.val.blob.media_type = string(piece->media_type);
      plugin_sdk_string_t bytes = string_of(piece->bytes.text, piece->bytes.length);
      made.body.val.blob.data = (plugin_sdk_list_u8_t){bytes.ptr, bytes.len};
      break;
  }
  return made;
}

static pausegate_plugin_types_success_t success_of(const pg_outcome *outcome) {
  pausegate_plugin_types_success_t made = {0};
  made.content.len = outcome->pieces_count;
  made.content.ptr = array(outcome->pieces_count, sizeof *made.content.ptr);
  for (size_t at = 0; at < outcome->pieces_count; at++) made.content.ptr[at] = content_of(&outcome->pieces[at]);
  return made;
}

static void pause_of(const pg_outcome *outcome, pausegate_plugin_types_pause_t *made) {
  made->key = string(outcome->key);
  made->reason = string(outcome->reason);
  if (outcome->context.text) made->context.is_some = true, made->context.val = string_of(outcome->context.text, outcome->context.length);
  made->ask = ask_of(&outcome->ask);
  if (outcome->state.text) {
    plugin_sdk_string_t bytes = string_of(outcome->state.text, outcome->state.length);
    made->state.is_some = true, made->state.val = (plugin_sdk_list_u8_t){bytes.ptr, bytes.len};
  }
}

static void failure_of(const pg_outcome *outcome, pausegate_plugin_types_failure_t *made) {
  made->kind = string(outcome->kind);
  made->message = string(outcome->message);
  made->retry_after_ms.is_some = outcome->has_retry_after;
  made->retry_after_ms.val = outcome->retry_after_ms;
  made->effect = strcmp(outcome->effect, "maybe") == 0      ? PAUSEGATE_PLUGIN_TYPES_EFFECT_STATE_MAYBE
                 : strcmp(outcome->effect, "happened") == 0 ? PAUSEGATE_PLUGIN_TYPES_EFFECT_STATE_HAPPENED
                                                            : PAUSEGATE_PLUGIN_TYPES_EFFECT_STATE_NONE;
}

static pg_given given_of(const exports_pausegate_plugin_tools_call_t *call) {
  pg_answer *answers = array(call->answers.len, sizeof *answers);
  for (size_t at = 0; at < call->answers.len; at++) {
    const pausegate_plugin_types_answer_t *each = &call->answers.ptr[at];
    answers[at] = (pg_answer){text_of(each->key), asked_of(&each->asked), {text_of(each->value), each->value.len}};
  }
  return (pg_given){
      .id = text_of(call->id),
      .tool = text_of(call->tool),
      .idempotency_key = text_of(call->idempotency_key),
      .arguments = {text_of(call->arguments), call->arguments.len},
      .attempt = call->attempt,
      .time_left_ms = call->time_left_ms,
      .approved = call->approved,
      .answers = answers,
      .answers_count = call->answers.len,
      .state = {call->state.is_some ? (const char *)call->state.val.ptr : NULL, call->state.val.len},
  };
}

void exports_pausegate_plugin_tools_call_tool(exports_pausegate_plugin_tools_call_t *given, exports_pausegate_plugin_tools_outcome_t *ret) {
  pg_given call_given = given_of(given);
  pg_call *call = pg_call_new(&call_given);
  pg_outcome outcome = pg_call_run(call, &pg_this_plugin);
  memset(ret, 0, sizeof *ret);
  switch (outcome.is) {
    case PG_DONE:
      ret->tag = PAUSEGATE_PLUGIN_TYPES_OUTCOME_DONE;
      ret->val.done = success_of(&outcome);
      break;
    case PG_FAILED:
      ret->tag = PAUSEGATE_PLUGIN_TYPES_OUTCOME_FAILED;
      failure_of(&outcome, &ret->val.failed);
      break;
    case PG_PAUSED:
      ret->tag = PAUSEGATE_PLUGIN_TYPES_OUTCOME_PAUSE;
      pause_of(&outcome, &ret->val.pause);
      break;
    default: break; /* Of `PG_RECONCILE` alone. */
  }
  fflush(NULL);
  pg_call_free(call);
}

/* ---- what became of a call ---- */

/* What the bindings made of the optional export: `PG_RECONCILE` exports it, of plugins that use it. */
extern uint8_t *__wasm_export_exports_pausegate_plugin_reconcile_reconcile(uint8_t *call);

static void (*finder)(pg_call *call);

uint8_t *pg_reconcile_by(uint8_t *call, void (*find)(pg_call *call)) {
  finder = find;
  return __wasm_export_exports_pausegate_plugin_reconcile_reconcile(call);
}

void exports_pausegate_plugin_reconcile_reconcile(exports_pausegate_plugin_reconcile_call_t *given, exports_pausegate_plugin_reconcile_verdict_t *ret) {
  pg_given call_given = given_of(given);
  pg_call *call = pg_call_new(&call_given);
  pg_outcome outcome = pg_call_find(call, &pg_this_plugin, finder);
  memset(ret, 0, sizeof *ret);
  switch (outcome.is) {
    case PG_DONE:
      ret->tag = EXPORTS_PAUSEGATE_PLUGIN_RECONCILE_VERDICT_HAPPENED;
      ret->val.happened.val.ok = success_of(&outcome);
      break;
    case PG_FAILED:
      ret->tag = EXPORTS_PAUSEGATE_PLUGIN_RECONCILE_VERDICT_HAPPENED;
      ret->val.happened.is_err = true;
      failure_of(&outcome, &ret->val.happened.val.err);
      break;
    case PG_NOT_HAPPENED: ret->tag = EXPORTS_PAUSEGATE_PLUGIN_RECONCILE_VERDICT_NOT_HAPPENED; break;
    default: ret->tag = EXPORTS_PAUSEGATE_PLUGIN_RECONCILE_VERDICT_UNKNOWN; break;
  }
  fflush(NULL);
  pg_call_free(call);
}

/* ---- lines ---- */

void pg_host_log(pg_level level, const char *message, size_t length) {
  plugin_sdk_string_t line = pg_valid(message, length);
  pausegate_plugin_log_write((pausegate_plugin_log_level_t)level, &line);
  free(line.ptr);
}

void pg_host_progress(double done, double total, const char *message) {
  plugin_sdk_string_t line = string(message);
  pausegate_plugin_progress_report(done, total < 0 ? NULL : &total, &line);
  free(line.ptr);
}
