#include "testing.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pg_test {
  pg_given given;
  pg_answer answers[PG_TEST_ANSWERS_MAX];
  /* All attempts are kept: answers point into them. */
  pg_call *calls[PG_TEST_ANSWERS_MAX + 1];
  pg_given givens[PG_TEST_ANSWERS_MAX + 1];
  size_t attempts;
  pg_outcome outcome;
};

pg_test *pg_test_new(const char *tool, const char *arguments) {
  pg_test *test = calloc(1, sizeof *test);
  if (!test) abort();
  test->given = (pg_given){
      .id = "tc_test",
      .tool = tool,
      .idempotency_key = "key_test",
      .arguments = {arguments, strlen(arguments)},
      .attempt = 1,
      .time_left_ms = 30000,
      .answers = test->answers,
  };
  return test;
}

void pg_test_free(pg_test *test) {
  for (size_t at = 0; at < test->attempts; at++) pg_call_free(test->calls[at]);
  free(test);
}

static pg_call *next(pg_test *test) {
  assert(test->attempts <= PG_TEST_ANSWERS_MAX);
  pg_given *given = &test->givens[test->attempts];
  *given = test->given;
  return test->calls[test->attempts++] = pg_call_new(given);
}

const pg_outcome *pg_test_find(pg_test *test, void (*find)(pg_call *call)) {
  test->outcome = pg_call_find(next(test), &pg_this_plugin, find);
  return &test->outcome;
}

const pg_outcome *pg_test_run(pg_test *test) {
  test->outcome = pg_call_run(next(test), &pg_this_plugin);
  test->given.attempt++;
  return &test->outcome;
}

void pg_test_answer(pg_test *test, const char *value) {
  assert(test->outcome.is == PG_PAUSED);
  assert(test->given.answers_count < PG_TEST_ANSWERS_MAX);
  pg_answer *answer = &test->answers[test->given.answers_count++];
  *answer = (pg_answer){test->outcome.key, test->outcome.ask, {value, strlen(value)}};
  test->given.state = test->outcome.state;
  /* As the host has it: a yes to a question of the call approves its arguments. */
  if (answer->asked.is == PG_ASK_APPROVAL && strcmp(value, "true") == 0) test->given.approved = true;
}

void pg_test_approve(pg_test *test) { test->given.approved = true; }

void pg_test_state(pg_test *test, const char *state) { test->given.state = (pg_bytes){state, strlen(state)}; }

static const char *piece(const pg_outcome *outcome, pg_piece_case is) {
  for (size_t at = 0; outcome->is == PG_DONE && at < outcome->pieces_count; at++)
    if (outcome->pieces[at].is == is) return outcome->pieces[at].bytes.text;
  return NULL;
}

const char *pg_test_text(const pg_outcome *outcome) { return piece(outcome, PG_PIECE_TEXT); }
const char *pg_test_json(const pg_outcome *outcome) { return piece(outcome, PG_PIECE_JSON); }

void pg_host_log(pg_level level, const char *message, size_t length) {
  static const char *const names[] = {"trace", "debug", "info", "warn", "error"};
  fprintf(stderr, "%s: %.*s\n", names[level], (int)length, message);
}

void pg_host_progress(double done, double total, const char *message) { fprintf(stderr, "progress: %g of %g: %s\n", done, total, message); }

const pg_response *(*pg_test_http)(pg_call *call, const pg_request *request);

const pg_response *pg_host_http(pg_call *call, const pg_request *request) {
  if (pg_test_http) return pg_test_http(call, request);
  pg_fail(call, "failed", "%s: there is no network outside the sandbox: set `pg_test_http`", request->url);
  return NULL;
}

/* ---- values and settings, in memory ---- */

typedef struct {
  char *name, *bytes;
  size_t length;
} kept;

static kept values[PG_TEST_VALUES_MAX], settings[PG_TEST_VALUES_MAX];

/* The place of a name, or the first that is free. */
static kept *place(kept *of, const char *name) {
  kept *free_place = NULL;
  for (size_t at = 0; at < PG_TEST_VALUES_MAX; at++) {
    if (of[at].name && strcmp(of[at].name, name) == 0) return &of[at];
    if (!of[at].name && !free_place) free_place = &of[at];
  }
  assert(free_place && "a test keeps PG_TEST_VALUES_MAX values");
  return free_place;
}

static void forget(kept *each) {
  free(each->name);
  free(each->bytes);
  *each = (kept){0};
}

static void keep(kept *of, const char *name, const void *bytes, size_t length) {
  kept *to = place(of, name);
  forget(to);
  *to = (kept){strdup(name), malloc(length + 1), length};
  if (!to->name || !to->bytes) abort();
  if (length) memcpy(to->bytes, bytes, length);
  to->bytes[length] = 0;
}

void pg_test_forget(void) {
  for (size_t at = 0; at < PG_TEST_VALUES_MAX; at++) forget(&values[at]);
}

void pg_test_config(const char *name, const char *value) {
  forget(place(settings, name));
  if (value) keep(settings, name, value, strlen(value));
}

static const char *owned(pg_call *call, const kept *found) {
  if (!found->name) return NULL;
  char *made = pg_alloc(call, found->length + 1);
  memcpy(made, found->bytes, found->length + 1);
  return made;
}

const char *pg_kv_get(pg_call *call, const char *key, size_t *length) {
  const kept *found = place(values, key);
  if (length) *length = found->name ? found->length : 0;
  return owned(call, found);
}

bool pg_kv_set(pg_call *call, const char *key, const void *value, size_t length) {
  if (pg_ended(call)) return false;
  keep(values, key, value, length);
  return true;
}

bool pg_kv_delete(pg_call *call, const char *key) {
  if (pg_ended(call)) return false;
  forget(place(values, key));
  return true;
}

bool pg_kv_exists(pg_call *call, const char *key) { return !pg_ended(call) && place(values, key)->name; }

static int by_bytes(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

static const char *const *names(pg_call *call, const kept *of) {
  const char **names = pg_alloc(call, (PG_TEST_VALUES_MAX + 1) * sizeof *names);
  size_t count = 0;
  for (size_t at = 0; at < PG_TEST_VALUES_MAX; at++)
    if (of[at].name) names[count++] = pg_format(call, "%s", of[at].name);
  names[count] = NULL;
  qsort(names, count, sizeof *names, by_bytes);
  return names;
}

const char *const *pg_kv_keys(pg_call *call) { return names(call, values); }

const char *pg_config(pg_call *call, const char *name) { return owned(call, place(settings, name)); }

const char *const *pg_config_names(pg_call *call) { return names(call, settings); }
