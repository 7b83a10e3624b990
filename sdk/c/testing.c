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

const pg_outcome *pg_test_run(pg_test *test) {
  assert(test->attempts <= PG_TEST_ANSWERS_MAX);
  pg_given *given = &test->givens[test->attempts];
  *given = test->given;
  pg_call *call = test->calls[test->attempts++] = pg_call_new(given);
  test->outcome = pg_call_run(call, &pg_this_plugin);
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
