/* Write pausegate plugins in C: a table of tools, a function for each.
 *
 *     static void remove_file(pg_call *call) {
 *       const char *path = pg_string(call, "path");
 *       if (!pg_ask_approval(call, "Remove %s", path)) return;
 *       if (remove(path) != 0) { pg_fail_errno(call, path); return; }
 *       pg_text(call, "removed %s", path);
 *     }
 *
 *     static const pg_parameter path[] = {{.name = "path", .type = PG_STRING, .about = "Where it is."}, {0}};
 *     static const pg_tool tools[] = {
 *       {.name = "remove", .about = "Removes a file for good.", .effects = PG_ONCE, .parameters = path, .run = remove_file},
 *       {0}};
 *     PG_PLUGIN(tools, NULL)
 *
 * What a tool does is said on the call: `pg_text`, `pg_json`, `pg_blob` add to the result, `pg_fail` fails it, `pg_ask_…`
 * ask a person. All memory that the functions hand out belongs to the call and lives as long as it. */
#ifndef PAUSEGATE_H
#define PAUSEGATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* For languages that can read this header but not yyjson's inline functions. */
#ifdef PG_OPAQUE_JSON
typedef struct yyjson_val yyjson_val;
typedef struct yyjson_mut_val yyjson_mut_val;
typedef struct yyjson_mut_doc yyjson_mut_doc;
#else
#include "yyjson/yyjson.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define PG_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define PG_PRINTF(text, first)
#endif

/* The most bytes that a pause may save (`wit/plugin.wit`, `pause.state`). */
#define PG_STATE_BYTES_MAX (64 * 1024)
/* The most parameters of a tool, tools of a plugin, pieces of a result, choices of a question. */
#define PG_PARAMETERS_MAX 64
#define PG_TOOLS_MAX 256
#define PG_PIECES_MAX 64
#define PG_CHOICES_MAX 64

typedef struct pg_call pg_call;

/* ---- what a plugin offers ---- */

/* What running a tool twice would do; the host holds the plugin to its word. */
typedef enum { PG_ONCE, PG_IDEMPOTENT, PG_READ_ONLY } pg_effects;

typedef enum { PG_STRING = 1, PG_INTEGER, PG_NUMBER, PG_BOOLEAN, PG_ARRAY, PG_OBJECT, PG_ANY } pg_type;

/* One argument. The table ends with an empty one. */
typedef struct {
  const char *name;
  pg_type type;
  /* For the model. */
  const char *about;
  /* May be left out, or null. */
  bool optional;
  /* JSON that stands in for it where it is left out; makes it optional. */
  const char *fallback;
  /* More keywords of its JSON Schema, as an object: `{"minimum": 1}`, `{"items": {"type": "string"}}`. */
  const char *schema;
} pg_parameter;

/* One tool. The table ends with an empty one. */
typedef struct {
  /* `[a-zA-Z0-9_-]`, at most 64 characters together with the plugin's name. */
  const char *name;
  /* A short name for people, or NULL. */
  const char *title;
  /* What it does, for the model. */
  const char *about;
  pg_effects effects;
  /* NULL for none. */
  const pg_parameter *parameters;
  /* JSON Schema of what `pg_json` gives, or NULL. */
  const char *output_schema;
  void (*run)(pg_call *call);
} pg_tool;

/* What the plugin would like to be granted, and why: shown to the operator, grants nothing. `scope` is JSON with the keys
 * of the grant line, such as `{"mount": "/build", "access": "write"}`. The table ends with an empty one. */
typedef struct {
  const char *capability, *scope, *why;
} pg_want;

typedef struct {
  const pg_tool *tools;
  const pg_want *wants;
} pg_plugin;

/* Makes this program a plugin; once, outside any function. `wants` may be NULL. */
#define PG_PLUGIN(tools_, wants_) const pg_plugin pg_this_plugin = {.tools = (tools_), .wants = (wants_)};

/* ---- arguments ---- */

/* They were checked against the table, so a required one is there and of its type. One that is left out and has no
 * fallback reads as "", 0 or false: ask `pg_has`. */
bool pg_has(const pg_call *call, const char *name);
const char *pg_string(const pg_call *call, const char *name);
int64_t pg_integer(const pg_call *call, const char *name);
double pg_number(const pg_call *call, const char *name);
bool pg_boolean(const pg_call *call, const char *name);
/* Any JSON value; NULL where it is left out. `yyjson_get_len` counts text that holds a NUL. */
yyjson_val *pg_value(const pg_call *call, const char *name);

/* ---- the call ---- */

const char *pg_id(const pg_call *call);
const char *pg_tool_name(const pg_call *call);
/* 1 for the first attempt. */
uint32_t pg_attempt(const pg_call *call);
/* The same over attempts of unchanged arguments: hand it to services that refuse doubles by it. */
const char *pg_idempotency_key(const pg_call *call);
uint32_t pg_time_left_ms(const pg_call *call);
/* Whether a person approved exactly these arguments. */
bool pg_approved(const pg_call *call);

/* ---- results ---- */

/* Text for the model. */
void pg_text(pg_call *call, const char *format, ...) PG_PRINTF(2, 3);
void pg_text_bytes(pg_call *call, const char *text, size_t length);
/* A value for programs, made with `pg_doc`; at most one. */
void pg_json(pg_call *call, yyjson_mut_val *value);
/* Bytes with their type, such as `image/png`. */
void pg_blob(pg_call *call, const char *media_type, const void *data, size_t length);
/* A document to make values with: `yyjson_mut_obj(pg_doc(call))`. */
yyjson_mut_doc *pg_doc(pg_call *call);

/* Fails the call; the first failure counts. `kind` is `invalid-input`, `not-found`, `denied`, `auth-required`, `timeout`,
 * `rate-limited`, `unavailable`, `too-large`, `conflict` or `failed`. */
void pg_fail(pg_call *call, const char *kind, const char *format, ...) PG_PRINTF(3, 4);
/* Fails with what `errno` says about `what`. */
void pg_fail_errno(pg_call *call, const char *what);
/* Trying again may help after this long. */
void pg_retry_after_ms(pg_call *call, uint32_t wait);
/* Whether something was changed although the call failed: `none`, `maybe` or `happened`. */
void pg_effect(pg_call *call, const char *effect);
/* Whether the call failed or asks a person: nothing that follows counts. */
bool pg_ended(const pg_call *call);

/* ---- questions ---- */

/* Each returns the answer once there is one. Until then it returns false or NULL, and the attempt ends with the question
 * whatever the tool does next: return from it. After the answer the tool runs again from its start, so ask first and act
 * afterwards. An answer comes back only to the same question under the same key. */

/* Goes on if a person approved this call, by a rule of the operator or by answering this. */
bool pg_ask_approval(pg_call *call, const char *format, ...) PG_PRINTF(2, 3);

typedef struct {
  const char *value;
  /* What the person sees, or NULL. */
  const char *label;
} pg_choice;
/* The chosen value. */
const char *pg_ask_choice(pg_call *call, const char *key, const char *reason, const pg_choice *choices, size_t count);
const char *pg_ask_text(pg_call *call, const char *key, const char *reason);
/* A value that fits a JSON Schema. */
yyjson_val *pg_ask_form(pg_call *call, const char *key, const char *reason, const char *schema);
/* A question of another, namespaced kind. */
yyjson_val *pg_ask_other(pg_call *call, const char *key, const char *reason, const char *kind, const char *schema);
/* A JSON value to show beside the reason of the questions that follow. */
void pg_context(pg_call *call, yyjson_mut_val *value);

/* Keeps a value for the attempt after the next question; it stays until it is saved anew. */
void pg_save(pg_call *call, yyjson_mut_val *value);
/* What was saved last, or NULL. */
yyjson_val *pg_state(pg_call *call);

/* ---- lines for the operator, which the model never sees ---- */

typedef enum { PG_TRACE, PG_DEBUG, PG_INFO, PG_WARN, PG_ERROR } pg_level;
void pg_log(pg_level level, const char *format, ...) PG_PRINTF(2, 3);
/* `done` of `total` is done; `total` is negative where it is not known. */
void pg_progress(double done, double total, const char *message);

/* ---- requests, as far as the operator granted them; redirects are handed back ---- */

typedef struct {
  /* NULL is `GET`. */
  const char *method;
  const char *url;
  /* Name and value by turns, ended by NULL; or NULL. */
  const char *const *headers;
  const void *body;
  size_t body_length;
  /* The most bytes of the response's body; 0 is 8 MiB. */
  size_t bytes_max;
} pg_request;

typedef struct {
  int status;
  /* Ended by a NUL that `body_length` does not count. */
  const char *body;
  size_t body_length;
} pg_response;

/* The response, or NULL, and the call has failed. */
const pg_response *pg_http(pg_call *call, const pg_request *request);

/* ---- values that last from call to call, in the one bucket that the operator granted ---- */

/* Where one cannot be kept or read the call has failed: `denied` without a grant, else `failed` with the host's words. */

/* The most keys that `pg_kv_keys` hands out; of a bucket with more it fails. */
#define PG_KV_KEYS_MAX 10000
/* NULL where there is none. Ended by a NUL that `length`, which may be NULL, does not count. */
const char *pg_kv_get(pg_call *call, const char *key, size_t *length);
bool pg_kv_set(pg_call *call, const char *key, const void *value, size_t length);
bool pg_kv_delete(pg_call *call, const char *key);
bool pg_kv_exists(pg_call *call, const char *key);
/* All keys, in order, ended by NULL; or NULL, and the call has failed. */
const char *const *pg_kv_keys(pg_call *call);

/* A setting that the operator made for this plugin, or NULL. */
const char *pg_config(pg_call *call, const char *name);
/* The names of all settings, in order, ended by NULL; or NULL, and the call has failed. */
const char *const *pg_config_names(pg_call *call);

/* ---- telling after a crash whether a call took effect, so that no person has to be asked ---- */

/* Makes `find` the function that the host asks; once, outside any function, beside `PG_PLUGIN`. It has the call and its
 * arguments and looks, for instance by `pg_idempotency_key` at the service; it runs as a read-only attempt. It says
 * `pg_happened`, and then what the tool would, `pg_text` or `pg_fail`; or it says `pg_not_happened`. If it says neither, or
 * both, a person is asked. */
void pg_happened(pg_call *call);
/* Now or later: the call may be made again. */
void pg_not_happened(pg_call *call);
#ifdef __wasm__
uint8_t *pg_reconcile_by(uint8_t *call, void (*find)(pg_call *call));
#define PG_RECONCILE(find) \
  __attribute__((export_name("pausegate:plugin/reconcile@0.1.0#reconcile"))) uint8_t *pg_this_reconcile(uint8_t *call) { \
    return pg_reconcile_by(call, find); \
  }
#else
#define PG_RECONCILE(find) void (*const pg_this_reconcile)(pg_call *) = find;
#endif

/* ---- memory of the call ---- */

void *pg_alloc(pg_call *call, size_t bytes);
const char *pg_format(pg_call *call, const char *format, ...) PG_PRINTF(2, 3);

#ifdef __cplusplus
}
#endif
#endif
