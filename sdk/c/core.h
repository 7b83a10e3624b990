/* What the SDK's files share. No type of the bindings is here: `host_wasm.c` translates, `testing.c` does without. */
#ifndef PAUSEGATE_CORE_H
#define PAUSEGATE_CORE_H

#include "pausegate.h"

typedef struct {
  const char *text;
  size_t length;
} pg_bytes;

typedef enum { PG_ASK_APPROVAL, PG_ASK_CHOICE, PG_ASK_TEXT, PG_ASK_FORM, PG_ASK_OTHER } pg_ask_case;

typedef struct {
  pg_ask_case is;
  const pg_choice *choices;
  size_t count;
  const char *kind, *schema;
} pg_ask;

typedef struct {
  const char *key;
  pg_ask asked;
  pg_bytes value;
} pg_answer;

/* One attempt, as the host gives it. */
typedef struct {
  const char *id, *tool, *idempotency_key;
  pg_bytes arguments;
  uint32_t attempt, time_left_ms;
  bool approved;
  const pg_answer *answers;
  size_t answers_count;
  /* `text` is NULL for none. */
  pg_bytes state;
} pg_given;

typedef enum { PG_PIECE_TEXT, PG_PIECE_JSON, PG_PIECE_BLOB } pg_piece_case;

typedef struct {
  pg_piece_case is;
  const char *media_type;
  pg_bytes bytes;
} pg_piece;

/* The last two are of `PG_RECONCILE` alone, whose `PG_DONE` and `PG_FAILED` are how the call ended. */
typedef enum { PG_DONE, PG_FAILED, PG_PAUSED, PG_NOT_HAPPENED, PG_UNKNOWN } pg_outcome_case;

typedef struct {
  pg_outcome_case is;
  const pg_piece *pieces;
  size_t pieces_count;
  const char *kind, *message, *effect;
  bool has_retry_after;
  uint32_t retry_after_ms;
  const char *key, *reason;
  pg_ask ask;
  pg_bytes context, state;
} pg_outcome;

extern const pg_plugin pg_this_plugin;

pg_call *pg_call_new(const pg_given *given);
void pg_call_free(pg_call *call);
/* Runs one attempt; the outcome lives as long as the call. */
pg_outcome pg_call_run(pg_call *call, const pg_plugin *plugin);
/* What `find` says of the call, in place of the tool. */
pg_outcome pg_call_find(pg_call *call, const pg_plugin *plugin, void (*find)(pg_call *call));

/* The JSON Schema of a tool's arguments. The caller frees it. NULL, and words, if the table is wrong. */
char *pg_input_schema(const pg_tool *tool, const char **wrong);
/* NULL, or what is wrong with the tables. */
const char *pg_check_plugin(const pg_plugin *plugin);

/* ---- of the host, or of tests; `pg_kv_…` and `pg_config` are too ---- */
void pg_host_log(pg_level level, const char *message, size_t length);
void pg_host_progress(double done, double total, const char *message);
/* NULL, and the call has failed. */
const pg_response *pg_host_http(pg_call *call, const pg_request *request);

#endif
