/* What an author can rely on: how an attempt ends, and what comes back from a question. Prints each promise. */
#include "../testing.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(holds) \
  do { \
    if (!(holds)) { \
      fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #holds); \
      exit(1); \
    } \
  } while (0)

static bool same(const char *a, const char *b) { return a && b && strcmp(a, b) == 0; }

/* ---- tools ---- */

static void remove_file(pg_call *call) {
  if (!pg_ask_approval(call, "Remove %s", pg_string(call, "path"))) return;
  pg_text(call, "removed %s", pg_string(call, "path"));
}

static void careless(pg_call *call) {
  pg_ask_approval(call, "Really?");
  pg_ask_text(call, "name", "What name?");
  pg_text(call, "done");
  pg_fail(call, "failed", "not even that");
}

static void both(pg_call *call) {
  if (!pg_ask_approval(call, "First?") || !pg_ask_approval(call, "Second?")) return;
  pg_text(call, "both");
}

static const char *third;
static void choose(pg_call *call) {
  const pg_choice options[] = {{"a", "an A"}, {"b", NULL}, {third, NULL}};
  const char *chosen = pg_ask_choice(call, "key", "Which?", options, third ? 3 : 2);
  if (chosen) pg_text(call, "%s", chosen);
}

static void form(pg_call *call) {
  yyjson_val *answer = pg_ask_form(call, "form", "Where?", "{\"type\":\"object\",\"properties\":{\"a\":{},\"b\":{}}}");
  if (answer) pg_json(call, yyjson_val_mut_copy(pg_doc(call), answer));
}

static void rate(pg_call *call) {
  yyjson_val *stars = pg_ask_other(call, "stars", "Rate it", "mine:stars", "{\"type\": \"integer\"}");
  if (stars) pg_text(call, "%d", yyjson_get_int(stars));
}

static void trip(pg_call *call) {
  int asked = yyjson_get_int(pg_state(call)) + 1;
  pg_save(call, yyjson_mut_int(pg_doc(call), asked));
  pg_context(call, yyjson_mut_int(pg_doc(call), asked));
  pg_ask_text(call, pg_format(call, "q%d", asked), "What?");
}

static void hoard(pg_call *call) {
  size_t size = (size_t)pg_integer(call, "size");
  char *text = pg_alloc(call, size + 1);
  memset(text, 'x', size);
  text[size] = 0;
  pg_save(call, yyjson_mut_str(pg_doc(call), text));
}

static void fail(pg_call *call) {
  pg_text(call, "before");
  pg_fail(call, pg_string(call, "kind"), "first %s", pg_string(call, "kind"));
  pg_fail(call, "failed", "second");
  pg_retry_after_ms(call, 1500);
  pg_effect(call, "maybe");
}

static void fail_by_errno(pg_call *call) {
  errno = (int)pg_integer(call, "number");
  pg_fail_errno(call, "/a");
}

static void many_pieces(pg_call *call) {
  for (int64_t at = 0; at < pg_integer(call, "count"); at++) pg_text(call, "x");
}

static void not_json(pg_call *call) { pg_json(call, yyjson_mut_real(pg_doc(call), NAN)); }

static void arguments(pg_call *call) {
  pg_text(call, "%s %lld %g %d %s", pg_string(call, "text"), (long long)pg_integer(call, "whole"), pg_number(call, "number"),
          pg_boolean(call, "flag"), pg_has(call, "more") ? "more" : "less");
}

static void fetch(pg_call *call) {
  const pg_response *response = pg_http(call, &(pg_request){.url = "http://x/"});
  if (response) pg_text(call, "%d %s", response->status, response->body);
}

static void talk(pg_call *call) {
  (void)call;
  pg_log(PG_WARN, "careful: %d", 1);
  pg_progress(1, -1, "half");
}

static const pg_parameter path[] = {{"path", PG_STRING, "Where it is.", .schema = "{\"minLength\": 1}"}, {0}};
static const pg_parameter size[] = {{"size", PG_INTEGER}, {0}};
static const pg_parameter kind[] = {{"kind", PG_STRING}, {0}};
static const pg_parameter number[] = {{"number", PG_INTEGER}, {0}};
static const pg_parameter count[] = {{"count", PG_INTEGER}, {0}};
static const pg_parameter all[] = {{"text", PG_STRING, .fallback = "\"t\""}, {"whole", PG_INTEGER}, {"number", PG_NUMBER, .optional = true},
                                   {"flag", PG_BOOLEAN, .fallback = "true"}, {"more", PG_ANY, .optional = true}, {0}};

static void visit(pg_call *call) {
  size_t length;
  const char *before = pg_kv_get(call, "visits", &length);
  int visits = before ? atoi(before) + 1 : 1;
  CHECK(pg_kv_exists(call, "visits") == (before != NULL) && length == (before ? strlen(before) : 0));
  const char *now = pg_format(call, "%d", visits);
  CHECK(pg_kv_set(call, "visits", now, strlen(now)) && pg_kv_set(call, "gone", "", 0) && pg_kv_delete(call, "gone"));
  const char *const *keys = pg_kv_keys(call);
  CHECK(keys[0] && !keys[1]);
  pg_text(call, "visit %d: %s", visits, keys[0]);
}

static void units(pg_call *call) {
  const char *found = pg_config(call, "units");
  const char *const *names = pg_config_names(call);
  CHECK(found ? same(names[0], "units") && !names[1] : !names[0]);
  pg_text(call, "%s", found ? found : "none");
}

static const pg_tool tools[] = {
    {.name = "remove", .about = "x", .parameters = path, .run = remove_file},
    {.name = "careless", .about = "x", .run = careless},
    {.name = "both", .about = "x", .run = both},
    {.name = "choose", .about = "x", .run = choose},
    {.name = "form", .about = "x", .run = form},
    {.name = "rate", .about = "x", .run = rate},
    {.name = "trip", .about = "x", .run = trip},
    {.name = "hoard", .about = "x", .parameters = size, .run = hoard},
    {.name = "fail", .about = "x", .parameters = kind, .run = fail},
    {.name = "fail_by_errno", .about = "x", .parameters = number, .run = fail_by_errno},
    {.name = "many_pieces", .about = "x", .parameters = count, .run = many_pieces},
    {.name = "not_json", .about = "x", .run = not_json},
    {.name = "arguments", .about = "x", .parameters = all, .run = arguments},
    {.name = "fetch", .about = "x", .run = fetch},
    {.name = "talk", .about = "x", .run = talk},
    {.name = "visit", .about = "x", .run = visit},
    {.name = "units", .about = "x", .run = units},
    {0}};
PG_PLUGIN(tools, NULL)

static void found(pg_call *call) {
  const char *path = pg_string(call, "path");
  if (same(path, "done") || same(path, "refused") || same(path, "both")) pg_happened(call);
  if (same(path, "never") || same(path, "both")) pg_not_happened(call);
  if (same(path, "done")) pg_text(call, "removed %s", path);
  if (same(path, "refused")) pg_fail(call, "conflict", "it is there");
  if (same(path, "no way to look")) pg_fail(call, "unavailable", "no way");
  if (same(path, "asks")) pg_ask_approval(call, "Did it?");
}

PG_RECONCILE(found)

/* ---- promises ---- */

static void a_yes_lets_the_call_go_on(void) {
  pg_test *test = pg_test_new("remove", "{\"path\": \"/a\"}");
  const pg_outcome *outcome = pg_test_run(test);
  CHECK(outcome->is == PG_PAUSED && same(outcome->reason, "Remove /a") && outcome->ask.is == PG_ASK_APPROVAL);
  pg_test_answer(test, "true");
  CHECK(same(pg_test_text(pg_test_run(test)), "removed /a"));
  pg_test_free(test);
  test = pg_test_new("remove", "{\"path\": \"/a\"}");
  pg_test_approve(test);
  CHECK(same(pg_test_text(pg_test_run(test)), "removed /a"));
  pg_test_free(test);
}

static void s01_a_question_that_was_ignored_is_asked_all_the_same(void) {
  pg_test *test = pg_test_new("careless", "{}");
  const pg_outcome *outcome = pg_test_run(test);
  CHECK(outcome->is == PG_PAUSED && same(outcome->reason, "Really?"));
  pg_test_free(test);
}

static void s02_one_yes_answers_one_question(void) {
  pg_test *test = pg_test_new("both", "{}");
  pg_test_run(test);
  pg_test_answer(test, "true");
  CHECK(same(pg_test_run(test)->reason, "Second?"));
  pg_test_answer(test, "true");
  CHECK(same(pg_test_text(pg_test_run(test)), "both"));
  pg_test_free(test);
}

static void s03_nothing_but_true_is_a_yes(void) {
  const char *const values[] = {"false", "null", "{}", "\"true\"", "1", "[]"};
  for (size_t at = 0; at < sizeof values / sizeof *values; at++) {
    pg_test *test = pg_test_new("remove", "{\"path\": \"/a\"}");
    pg_test_run(test);
    pg_test_answer(test, values[at]);
    CHECK(same(pg_test_run(test)->kind, "invalid-input"));
    pg_test_free(test);
  }
}

static void s10_an_answer_holds_for_its_own_question_only(void) {
  pg_test *test = pg_test_new("choose", "{}");
  pg_test_run(test);
  pg_test_answer(test, "\"a\"");
  third = "c";
  CHECK(pg_test_run(test)->ask.count == 3);
  third = NULL;
  CHECK(same(pg_test_text(pg_test_run(test)), "a"));
  pg_test_free(test);
}

static const pg_outcome *answered(pg_test **test, const char *tool, const char *value) {
  *test = pg_test_new(tool, "{}");
  pg_test_run(*test);
  pg_test_answer(*test, value);
  return pg_test_run(*test);
}

static void each_kind_of_question_has_its_answer(void) {
  pg_test *test;
  CHECK(same(pg_test_text(answered(&test, "choose", "\"b\"")), "b"));
  pg_test_free(test);
  CHECK(same(answered(&test, "choose", "\"z\"")->message, "the answer to `key` does not fit"));
  pg_test_free(test);
  CHECK(same(pg_test_json(answered(&test, "form", "{\"a\":1}")), "{\"a\":1}"));
  pg_test_free(test);
  CHECK(same(pg_test_text(answered(&test, "rate", "4")), "4"));
  pg_test_free(test);
}

static void state_goes_along_with_the_question_and_has_a_limit(void) {
  pg_test *test = pg_test_new("trip", "{}");
  const pg_outcome *outcome = pg_test_run(test);
  CHECK(same(outcome->state.text, "1") && same(outcome->context.text, "1") && same(outcome->key, "q1"));
  pg_test_answer(test, "\"x\"");
  CHECK(same(pg_test_run(test)->state.text, "2"));
  pg_test_free(test);
  test = pg_test_new("hoard", "{\"size\": 65534}");
  CHECK(pg_test_run(test)->is == PG_DONE);
  pg_test_free(test);
  test = pg_test_new("hoard", "{\"size\": 65535}");
  CHECK(same(pg_test_run(test)->kind, "too-large"));
  pg_test_free(test);
}

static void the_key_of_an_approval_is_the_same_in_every_language(void) {
  pg_test *test = pg_test_new("remove", "{\"path\": \"x\"}");
  CHECK(same(pg_test_run(test)->key, "approval-2fa00591c1ba09ad"));
  pg_test_free(test);
}

static void the_first_failure_counts(void) {
  pg_test *test = pg_test_new("fail", "{\"kind\": \"not-found\"}");
  const pg_outcome *outcome = pg_test_run(test);
  CHECK(outcome->is == PG_FAILED && same(outcome->kind, "not-found") && same(outcome->message, "first not-found"));
  CHECK(outcome->has_retry_after && outcome->retry_after_ms == 1500 && same(outcome->effect, "maybe"));
  pg_test_free(test);
  test = pg_test_new("fail", "{\"kind\": \"made-up\"}");
  CHECK(same(pg_test_run(test)->kind, "failed"));
  pg_test_free(test);
}

static void errno_gives_the_kind(void) {
  const struct { int number; const char *kind; } cases[] = {{ENOENT, "not-found"}, {EACCES, "denied"}, {EEXIST, "conflict"}, {EISDIR, "invalid-input"}, {EIO, "failed"}};
  for (size_t at = 0; at < sizeof cases / sizeof *cases; at++) {
    char arguments[64];
    snprintf(arguments, sizeof arguments, "{\"number\": %d}", cases[at].number);
    pg_test *test = pg_test_new("fail_by_errno", arguments);
    CHECK(same(pg_test_run(test)->kind, cases[at].kind));
    pg_test_free(test);
  }
}

static void what_cannot_be_written_is_a_failure(void) {
  pg_test *test = pg_test_new("not_json", "{}");
  CHECK(pg_test_run(test)->is == PG_FAILED);
  pg_test_free(test);
  test = pg_test_new("many_pieces", "{\"count\": 64}");
  CHECK(pg_test_run(test)->is == PG_DONE);
  pg_test_free(test);
  test = pg_test_new("many_pieces", "{\"count\": 65}");
  CHECK(same(pg_test_run(test)->kind, "too-large"));
  pg_test_free(test);
}

static const char *message(const char *tool, const char *arguments) {
  static char kept[256];
  pg_test *test = pg_test_new(tool, arguments);
  const pg_outcome *outcome = pg_test_run(test);
  snprintf(kept, sizeof kept, "%s", outcome->is == PG_FAILED ? outcome->message : pg_test_text(outcome));
  pg_test_free(test);
  return kept;
}

static void s19_arguments_that_do_not_fit_are_named(void) {
  CHECK(same(message("arguments", "{}"), "`whole` is missing"));
  CHECK(same(message("arguments", "{\"whole\": \"notint\"}"), "`whole`: expected integer, got string"));
  CHECK(same(message("arguments", "{\"whole\": 1.5}"), "`whole`: expected integer, got real"));
  CHECK(same(message("arguments", "{\"whole\": null}"), "`whole`: expected integer, got null"));
  CHECK(same(message("arguments", "{\"whole\": 1, \"other\": 1}"), "`other` is not known"));
  CHECK(same(message("arguments", "[]"), "the arguments are not an object"));
  CHECK(same(message("nothing", "{}"), "no tool named `nothing`"));
}

static void what_is_left_out_has_its_fallback(void) {
  CHECK(same(message("arguments", "{\"whole\": 3}"), "t 3 0 1 less"));
  CHECK(same(message("arguments", "{\"whole\": 3.0, \"text\": null, \"number\": 2, \"flag\": false, \"more\": null}"), "t 3 2 0 more"));
}

static const pg_response *page(pg_call *call, const pg_request *request) {
  (void)call;
  (void)request;
  static const pg_response response = {200, "hi", 2};
  return &response;
}

static void requests_are_answered_by_the_test(void) {
  CHECK(strstr(message("fetch", "{}"), "pg_test_http"));
  pg_test_http = page;
  CHECK(same(message("fetch", "{}"), "200 hi"));
}

static void a_schema_says_what_the_table_says(void) {
  const char *wrong;
  char *schema = pg_input_schema(&tools[0], &wrong);
  CHECK(same(schema, "{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\",\"description\":\"Where it is.\",\"minLength\":1}},"
                     "\"required\":[\"path\"],\"additionalProperties\":false}"));
  free(schema);
  schema = pg_input_schema(&tools[12], &wrong);
  CHECK(strstr(schema, "\"number\":{\"type\":[\"number\",\"null\"]}") && strstr(schema, "\"flag\":{\"type\":\"boolean\",\"default\":true}"));
  CHECK(strstr(schema, "\"required\":[\"whole\"]"));
  free(schema);
}

static void w44_w45_s18_wrong_tables_are_said_at_load(void) {
  const char *const names[] = {"a.b", "ns:pkg/i.f", "\xc3\xa4", "", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"};
  for (size_t at = 0; at < sizeof names / sizeof *names; at++) {
    const pg_tool table[] = {{.name = names[at], .about = "x", .run = talk}, {0}};
    CHECK(pg_check_plugin(&(pg_plugin){table, NULL}));
  }
  const pg_tool twice[] = {{.name = "a", .about = "x", .run = talk}, {.name = "a", .about = "x", .run = talk}, {0}};
  CHECK(same(pg_check_plugin(&(pg_plugin){twice, NULL}), "two tools have one name"));
  const pg_tool silent[] = {{.name = "a", .about = "", .run = talk}, {0}};
  CHECK(pg_check_plugin(&(pg_plugin){silent, NULL}));
  const pg_parameter broken[] = {{"a", PG_STRING, .fallback = "no json"}, {0}};
  const pg_tool with_broken[] = {{.name = "a", .about = "x", .parameters = broken, .run = talk}, {0}};
  CHECK(same(pg_check_plugin(&(pg_plugin){with_broken, NULL}), "a `fallback` is not JSON"));
  CHECK(pg_check_plugin(&(pg_plugin){(const pg_tool[]){{0}}, NULL}));
  CHECK(!pg_check_plugin(&pg_this_plugin));
}

static void values_last_from_call_to_call(void) {
  pg_test *test = pg_test_new("visit", "{}");
  CHECK(same(pg_test_text(pg_test_run(test)), "visit 1: visits"));
  CHECK(same(pg_test_text(pg_test_run(test)), "visit 2: visits"));
  pg_test_forget();
  CHECK(same(pg_test_text(pg_test_run(test)), "visit 1: visits"));
  pg_test_free(test);
  pg_test_forget();
}

static void settings_are_those_of_the_test(void) {
  pg_test *test = pg_test_new("units", "{}");
  CHECK(same(pg_test_text(pg_test_run(test)), "none"));
  pg_test_config("units", "metric");
  CHECK(same(pg_test_text(pg_test_run(test)), "metric"));
  pg_test_config("units", NULL);
  CHECK(same(pg_test_text(pg_test_run(test)), "none"));
  pg_test_free(test);
}

static void what_became_of_a_call_is_told_or_asked_of_a_person(void) {
  static const struct { const char *path; pg_outcome_case is; const char *says; } all[] = {
      {"done", PG_DONE, "removed done"}, {"refused", PG_FAILED, "it is there"}, {"never", PG_NOT_HAPPENED, NULL}, {"both", PG_UNKNOWN, NULL},
      {"no way to look", PG_UNKNOWN, NULL}, {"asks", PG_UNKNOWN, NULL}, {"", PG_UNKNOWN, NULL}};
  for (size_t at = 0; at < sizeof all / sizeof *all; at++) {
    char arguments[100];
    snprintf(arguments, sizeof arguments, "{\"path\": \"%s\"}", all[at].path);
    pg_test *test = pg_test_new("remove", arguments);
    const pg_outcome *found = pg_test_find(test, pg_this_reconcile);
    CHECK(found->is == all[at].is);
    CHECK(!all[at].says || same(all[at].says, found->is == PG_DONE ? pg_test_text(found) : found->message));
    pg_test_free(test);
  }
}

static void lines_go_to_standard_error(void) { message("talk", "{}"); }

#define PROMISE(name) {#name, name}

int main(void) {
  static const struct { const char *name; void (*holds)(void); } promises[] = {
      PROMISE(a_yes_lets_the_call_go_on),
      PROMISE(s01_a_question_that_was_ignored_is_asked_all_the_same),
      PROMISE(s02_one_yes_answers_one_question),
      PROMISE(s03_nothing_but_true_is_a_yes),
      PROMISE(s10_an_answer_holds_for_its_own_question_only),
      PROMISE(each_kind_of_question_has_its_answer),
      PROMISE(state_goes_along_with_the_question_and_has_a_limit),
      PROMISE(the_key_of_an_approval_is_the_same_in_every_language),
      PROMISE(the_first_failure_counts),
      PROMISE(errno_gives_the_kind),
      PROMISE(what_cannot_be_written_is_a_failure),
      PROMISE(s19_arguments_that_do_not_fit_are_named),
      PROMISE(what_is_left_out_has_its_fallback),
      PROMISE(requests_are_answered_by_the_test),
      PROMISE(values_last_from_call_to_call),
      PROMISE(settings_are_those_of_the_test),
      PROMISE(what_became_of_a_call_is_told_or_asked_of_a_person),
      PROMISE(a_schema_says_what_the_table_says),
      PROMISE(w44_w45_s18_wrong_tables_are_said_at_load),
      PROMISE(lines_go_to_standard_error),
  };
  size_t count = sizeof promises / sizeof *promises;
  for (size_t at = 0; at < count; at++) {
    promises[at].holds();
    printf("ok %s\n", promises[at].name);
  }
  printf("%zu promises hold\n", count);
  return 0;
}
