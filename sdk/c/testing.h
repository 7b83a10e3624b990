/* Runs a tool without a host, from JSON arguments to outcome. Link `testing.c` instead of `host_wasm.c` and `http_wasm.c`.
 *
 *     pg_test *test = pg_test_new("remove", "{\"path\": \"/build/a.tmp\"}");
 *     assert(strcmp(pg_test_run(test)->reason, "Remove /build/a.tmp") == 0);
 *     pg_test_answer(test, "true");
 *     assert(strcmp(pg_test_text(pg_test_run(test)), "removed /build/a.tmp") == 0);
 *     pg_test_free(test); */
#ifndef PAUSEGATE_TESTING_H
#define PAUSEGATE_TESTING_H

#include "core.h"

/* The most answers of one test. */
#define PG_TEST_ANSWERS_MAX 32

typedef struct pg_test pg_test;

/* A call without approval, answers or state. */
pg_test *pg_test_new(const char *tool, const char *arguments);
void pg_test_free(pg_test *test);
/* The next attempt. The outcome lives until the one after it. */
const pg_outcome *pg_test_run(pg_test *test);
/* A person answers the question that the last attempt ended with; `value` is JSON. */
void pg_test_answer(pg_test *test, const char *value);
/* A person approved the call as a whole. */
void pg_test_approve(pg_test *test);
/* As if an earlier question had saved it. */
void pg_test_state(pg_test *test, const char *state);
/* The first text of a result, or NULL; and the value for programs. */
const char *pg_test_text(const pg_outcome *outcome);
const char *pg_test_json(const pg_outcome *outcome);

/* What the plugin's function says became of the call: `PG_DONE` or `PG_FAILED` is how it ended, `PG_NOT_HAPPENED`, `PG_UNKNOWN`. */
const pg_outcome *pg_test_find(pg_test *test, void (*find)(pg_call *call));
/* Makes a setting; a NULL value takes it away. */
void pg_test_config(const char *name, const char *value);
/* Takes all values away that were kept: outside the sandbox they are in memory, at most `PG_TEST_VALUES_MAX` of each. */
void pg_test_forget(void);
#define PG_TEST_VALUES_MAX 256

/* Answers requests from now on: there is no network. NULL fails the call. */
extern const pg_response *(*pg_test_http)(pg_call *call, const pg_request *request);

#endif
