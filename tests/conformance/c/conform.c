/* The conformance plugin in C; `cases.json` says what each tool must do. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "pausegate.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void echo(pg_call *call) {
  yyjson_val *text = pg_value(call, "text");
  pg_text_bytes(call, yyjson_get_str(text), yyjson_get_len(text));
}

/* Puts `name` of `from` into `to`, or null. */
static void put(yyjson_mut_doc *doc, yyjson_mut_val *to, const char *name, yyjson_val *value) {
  yyjson_mut_obj_add_val(doc, to, name, value ? yyjson_val_mut_copy(doc, value) : yyjson_mut_null(doc));
}

static void types(pg_call *call) {
  static const char *const names[] = {"string", "integer", "number", "boolean", "list", "map", "colour", "optional", "defaulted"};
  yyjson_mut_doc *doc = pg_doc(call);
  yyjson_mut_val *all = yyjson_mut_obj(doc), *inner = yyjson_mut_obj(doc);
  for (size_t at = 0; at < COUNT(names); at++) put(doc, all, names[at], pg_value(call, names[at]));
  yyjson_val *nested = pg_value(call, "nested");
  put(doc, inner, "name", yyjson_obj_get(nested, "name"));
  put(doc, inner, "tags", yyjson_obj_get(nested, "tags"));
  put(doc, inner, "point", yyjson_obj_get(nested, "point"));
  yyjson_mut_obj_add_val(doc, all, "nested", inner);
  pg_json(call, all);
}

static void any(pg_call *call) {
  yyjson_mut_val *all = yyjson_mut_obj(pg_doc(call));
  put(pg_doc(call), all, "value", pg_value(call, "value"));
  pg_json(call, all);
}

static void fail(pg_call *call) {
  pg_fail(call, pg_string(call, "kind"), "%s", pg_string(call, "message"));
  pg_effect(call, pg_string(call, "effect"));
  if (pg_has(call, "retry_after_ms")) pg_retry_after_ms(call, (uint32_t)pg_integer(call, "retry_after_ms"));
}

static void crash(pg_call *call) {
  (void)call;
  abort();
}

static void approve(pg_call *call) {
  const char *reason = pg_string(call, "reason");
  if (!pg_ask_approval(call, "%s", reason)) return;
  pg_text(call, "approved: %s", reason);
}

static void approve_both(pg_call *call) {
  const char *first = pg_string(call, "first"), *second = pg_string(call, "second");
  if (!pg_ask_approval(call, "%s", first)) return;
  if (!pg_ask_approval(call, "%s", second)) return;
  pg_text(call, "approved: %s, %s", first, second);
}

/* Asks for one of the texts of an array. */
static const char *ask_one_of(pg_call *call, const char *key, const char *reason, yyjson_val *array) {
  pg_choice choices[PG_CHOICES_MAX] = {0};
  size_t at, count;
  yyjson_val *value;
  yyjson_arr_foreach(array, at, count, value) {
    if (at < PG_CHOICES_MAX) choices[at].value = yyjson_get_str(value);
  }
  return pg_ask_choice(call, key, reason, choices, yyjson_arr_size(array));
}

static void choose(pg_call *call) {
  const char *chosen = ask_one_of(call, "choice", "Which one?", pg_value(call, "options"));
  if (chosen) pg_text(call, "%s", chosen);
}

static void paint(pg_call *call) {
  static const pg_choice colours[] = {{"r", "a warm red"}, {"g", "a green"}};
  const char *colour = pg_ask_choice(call, "colour", "Which colour?", colours, COUNT(colours));
  if (colour) pg_text(call, "%s", colour);
}

static void text(pg_call *call) {
  const char *text = pg_ask_text(call, "text", pg_string(call, "reason"));
  if (text) pg_text(call, "%s", text);
}

#define ADDRESS                                                                                                    \
  "{\"type\": \"object\", \"properties\": {\"street\": {\"type\": \"string\"}, \"city\": {\"type\": \"string\"}, " \
  "\"remark\": {\"type\": [\"string\", \"null\"]}}, \"required\": [\"street\", \"city\"], \"additionalProperties\": false}"

static void form(pg_call *call) {
  const char *parcel = pg_string(call, "parcel");
  yyjson_mut_doc *doc = pg_doc(call);
  yyjson_mut_val *context = yyjson_mut_obj(doc), *address = yyjson_mut_obj(doc);
  yyjson_mut_obj_add_str(doc, context, "parcel", parcel);
  pg_context(call, context);
  yyjson_val *answer = pg_ask_form(call, "address", pg_format(call, "Where does %s go?", parcel), ADDRESS);
  if (!answer) return;
  put(doc, address, "street", yyjson_obj_get(answer, "street"));
  put(doc, address, "city", yyjson_obj_get(answer, "city"));
  put(doc, address, "remark", yyjson_obj_get(answer, "remark"));
  pg_json(call, address);
}

static void rate(pg_call *call) {
  const char *subject = pg_string(call, "subject");
  yyjson_val *stars = pg_ask_other(call, "stars", pg_format(call, "Rate %s", subject), "conform:stars",
                                   "{\"type\": \"integer\", \"minimum\": 1, \"maximum\": 5}");
  if (stars) pg_text(call, "%s: %d of 5", subject, yyjson_get_int(stars));
}

static void trip(pg_call *call) {
  yyjson_mut_doc *doc = pg_doc(call);
  yyjson_val *saved = pg_state(call);
  yyjson_mut_val *plan = saved ? yyjson_val_mut_copy(doc, saved) : yyjson_mut_obj(doc);
  if (!yyjson_mut_obj_get(plan, "place")) {
    const char *place = ask_one_of(call, "place", "Where to?", pg_value(call, "places"));
    if (!place) return;
    yyjson_mut_obj_add_str(doc, plan, "place", place);
    pg_save(call, plan);
  }
  if (!yyjson_mut_obj_get(plan, "wishes")) {
    const char *wishes = pg_ask_text(call, "wishes", "What do you want to see there?");
    if (!wishes) return;
    yyjson_mut_obj_add_str(doc, plan, "wishes", wishes);
    pg_save(call, plan);
  }
  pg_context(call, plan);
  if (!pg_ask_approval(call, "Is that the plan?")) return;
  yyjson_mut_obj_add_int(doc, plan, "asked", 3);
  pg_json(call, plan);
}

static void swallow(pg_call *call) {
  pg_ask_approval(call, "Is that fine?");
  pg_text(call, "nobody was asked");
}

static char *filled(pg_call *call, size_t bytes) {
  char *text = pg_alloc(call, bytes + 1);
  memset(text, 'x', bytes);
  text[bytes] = 0;
  return text;
}

static void save_much(pg_call *call) {
  pg_save(call, yyjson_mut_str(pg_doc(call), filled(call, (size_t)pg_integer(call, "bytes"))));
  const char *text = pg_ask_text(call, "text", "What now?");
  if (text) pg_text(call, "%s", text);
}

static void say(pg_call *call) {
  const char *text = pg_string(call, "text");
  for (pg_level level = PG_TRACE; level <= PG_ERROR; level++) pg_log(level, "%s", text);
  puts(text);
  pg_text(call, "said");
}

static void count(pg_call *call) {
  int64_t to = pg_integer(call, "to");
  for (int64_t done = 0; done <= to; done++) pg_progress((double)done, (double)to, "counting");
  pg_text(call, "%lld", (long long)to);
}

static void read_file(pg_call *call) {
  const char *path = pg_string(call, "path");
  FILE *file = fopen(path, "rb");
  if (!file) { pg_fail_errno(call, path); return; }
  char text[4096];
  size_t length = fread(text, 1, sizeof text, file);
  fclose(file);
  pg_text_bytes(call, text, length);
}

static void write_file(pg_call *call) {
  const char *path = pg_string(call, "path"), *text = pg_string(call, "text");
  FILE *file = fopen(path, "wb");
  if (!file) { pg_fail_errno(call, path); return; }
  fwrite(text, 1, strlen(text), file);
  if (fclose(file) != 0) { pg_fail_errno(call, path); return; }
  pg_text(call, "written");
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static void list_folder(pg_call *call) {
  const char *path = pg_string(call, "path"), *names[64], *all = "";
  DIR *folder = opendir(path);
  if (!folder) { pg_fail_errno(call, path); return; }
  size_t found = 0;
  for (struct dirent *entry; found < COUNT(names) && (entry = readdir(folder));)
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) names[found++] = pg_format(call, "%s", entry->d_name);
  closedir(folder);
  qsort(names, found, sizeof *names, by_name);
  for (size_t at = 0; at < found; at++) all = pg_format(call, "%s%s%s", all, at ? "\n" : "", names[at]);
  pg_text(call, "%s", all);
}

static void get(pg_call *call) {
  const pg_response *response = pg_http(call, &(pg_request){.url = pg_string(call, "url")});
  if (!response) return;
  yyjson_mut_val *page = yyjson_mut_obj(pg_doc(call));
  yyjson_mut_obj_add_int(pg_doc(call), page, "status", response->status);
  yyjson_mut_obj_add_strn(pg_doc(call), page, "body", response->body, response->body_length);
  pg_json(call, page);
}

static void env(pg_call *call) {
  const char *name = pg_string(call, "name"), *value = getenv(name);
  if (value) pg_text(call, "%s", value);
  else pg_fail(call, "not-found", "no variable `%s`", name);
}

static void now(pg_call *call) {
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  yyjson_mut_val *now = yyjson_mut_obj(pg_doc(call));
  yyjson_mut_obj_add_int(pg_doc(call), now, "ms", (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000);
  pg_json(call, now);
}

static void random_number(pg_call *call) {
  uint64_t number = 0;
  getentropy(&number, 6);
  yyjson_mut_val *dice = yyjson_mut_obj(pg_doc(call));
  yyjson_mut_obj_add_uint(pg_doc(call), dice, "value", number);
  pg_json(call, dice);
}

static void big(pg_call *call) {
  size_t bytes = (size_t)pg_integer(call, "bytes");
  pg_text_bytes(call, filled(call, bytes), bytes);
}

static void length(pg_call *call) {
  yyjson_mut_val *length = yyjson_mut_obj(pg_doc(call));
  yyjson_mut_obj_add_uint(pg_doc(call), length, "bytes", yyjson_get_len(pg_value(call, "text")));
  pg_json(call, length);
}

static void broken(pg_call *call) { pg_text(call, "a\xff" "b"); }

static void pieces(pg_call *call) {
  yyjson_mut_val *two = yyjson_mut_obj(pg_doc(call));
  yyjson_mut_obj_add_int(pg_doc(call), two, "two", 2);
  pg_text(call, "one");
  pg_json(call, two);
  pg_blob(call, "image/png", "\x89PNG", 4);
}

static void nothing(pg_call *call) { (void)call; }

static void about(pg_call *call) {
  yyjson_mut_doc *doc = pg_doc(call);
  yyjson_mut_val *about = yyjson_mut_obj(doc);
  yyjson_mut_obj_add_str(doc, about, "tool", pg_tool_name(call));
  yyjson_mut_obj_add_uint(doc, about, "attempt", pg_attempt(call));
  yyjson_mut_obj_add_bool(doc, about, "approved", pg_approved(call));
  yyjson_mut_obj_add_bool(doc, about, "has_id", *pg_id(call));
  yyjson_mut_obj_add_bool(doc, about, "has_key", *pg_idempotency_key(call));
  yyjson_mut_obj_add_bool(doc, about, "has_time", pg_time_left_ms(call) > 0);
  pg_json(call, about);
}

static void counter(pg_call *call) {
  static int counted;
  pg_text(call, "%d", ++counted);
}

static void keep(pg_call *call) {
  const char *value = pg_string(call, "value");
  if (pg_kv_set(call, pg_string(call, "key"), value, strlen(value))) pg_text(call, "kept");
}

static void kept(pg_call *call) {
  const char *key = pg_string(call, "key");
  size_t length = 0;
  const char *value = pg_kv_exists(call, key) ? pg_kv_get(call, key, &length) : NULL;
  if (value)
    pg_text_bytes(call, value, length);
  else
    pg_text(call, "nothing under `%s`", key);
}

static void forget(pg_call *call) {
  if (pg_kv_delete(call, pg_string(call, "key"))) pg_text(call, "forgotten");
}

static void keys(pg_call *call) {
  const char *all = "";
  for (const char *const *key = pg_kv_keys(call); key && *key; key++) all = pg_format(call, "%s%s%s", all, *all ? "\n" : "", *key);
  pg_text(call, "%s", all);
}

static void setting(pg_call *call) {
  const char *value = pg_config(call, pg_string(call, "name")), *const *names = pg_config_names(call);
  int count = 0;
  while (names && names[count]) count++;
  if (value)
    pg_text(call, "%s, of %d", value, count);
  else
    pg_text(call, "none of %d", count);
}

/* A write is there or it is not; a file that says so was refused. */
static void found(pg_call *call) {
  FILE *file = fopen(pg_string(call, "path"), "r");
  if (!file && errno == ENOENT) {
    pg_not_happened(call);
    return;
  }
  if (!file) {
    pg_fail_errno(call, pg_string(call, "path"));
    return;
  }
  char held[1024];
  held[fread(held, 1, sizeof held - 1, file)] = 0;
  fclose(file);
  if (strcmp(held, pg_string(call, "text")) == 0) {
    pg_happened(call);
    pg_text(call, "written");
  } else if (strcmp(held, "refused") == 0) {
    pg_happened(call);
    pg_fail(call, "conflict", "it was refused");
  }
}

#define PARAMETERS(name_, ...) static const pg_parameter name_[] = {__VA_ARGS__, {0}}
#define TEXTS "{\"items\": {\"type\": \"string\"}}"

PARAMETERS(a_text, {"text", PG_STRING, "Any text."});
PARAMETERS(a_reason, {"reason", PG_STRING});
PARAMETERS(two_reasons, {"first", PG_STRING}, {"second", PG_STRING});
PARAMETERS(options, {"options", PG_ARRAY, .schema = TEXTS});
PARAMETERS(a_parcel, {"parcel", PG_STRING});
PARAMETERS(a_subject, {"subject", PG_STRING});
PARAMETERS(places, {"places", PG_ARRAY, .schema = TEXTS});
PARAMETERS(bytes, {"bytes", PG_INTEGER, .schema = "{\"minimum\": 0}"});
PARAMETERS(to, {"to", PG_INTEGER});
PARAMETERS(a_path, {"path", PG_STRING});
PARAMETERS(path_and_text, {"path", PG_STRING}, {"text", PG_STRING});
PARAMETERS(a_url, {"url", PG_STRING});
PARAMETERS(a_name, {"name", PG_STRING});
PARAMETERS(a_value, {"value", PG_ANY});
PARAMETERS(a_key, {"key", PG_STRING});
PARAMETERS(key_and_value, {"key", PG_STRING}, {"value", PG_STRING});
PARAMETERS(a_failure, {"kind", PG_STRING}, {"message", PG_STRING}, {"retry_after_ms", PG_INTEGER, .optional = true},
           {"effect", PG_STRING, .fallback = "\"none\"", .schema = "{\"enum\": [\"none\", \"maybe\", \"happened\"]}"});
PARAMETERS(all_types, {"string", PG_STRING}, {"integer", PG_INTEGER}, {"number", PG_NUMBER}, {"boolean", PG_BOOLEAN},
           {"list", PG_ARRAY, .schema = "{\"items\": {\"type\": \"integer\"}}"},
           {"map", PG_OBJECT, .schema = "{\"additionalProperties\": {\"type\": \"number\"}}"},
           {"nested", PG_OBJECT, "A thing with parts.",
            .schema = "{\"properties\": {\"name\": {\"type\": \"string\", \"description\": \"What it is called.\"}, \"tags\": {\"type\": "
                      "\"array\", \"items\": {\"type\": \"string\"}}, \"point\": {\"type\": [\"object\", \"null\"], \"properties\": {\"x\": "
                      "{\"type\": \"number\"}, \"y\": {\"type\": \"number\"}}, \"required\": [\"x\", \"y\"], \"additionalProperties\": "
                      "false}}, \"required\": [\"name\", \"tags\"], \"additionalProperties\": false}"},
           {"colour", PG_STRING, .schema = "{\"enum\": [\"red\", \"green\", \"blue\"]}"}, {"optional", PG_STRING, .optional = true},
           {"defaulted", PG_INTEGER, .fallback = "7"});

static const pg_tool tools[] = {
    {.name = "echo", .about = "Hands its text back.", .effects = PG_READ_ONLY, .parameters = a_text, .run = echo},
    {.name = "types", .about = "Hands its arguments back as it read them.", .effects = PG_READ_ONLY, .parameters = all_types, .run = types},
    {.name = "any", .about = "Hands any JSON value back.", .effects = PG_READ_ONLY, .parameters = a_value, .run = any},
    {.name = "fail", .about = "Fails as told.", .effects = PG_READ_ONLY, .parameters = a_failure, .run = fail},
    {.name = "crash", .about = "Runs into an error that nobody handles.", .effects = PG_READ_ONLY, .run = crash},
    {.name = "approve", .about = "Asks for a yes.", .effects = PG_READ_ONLY, .parameters = a_reason, .run = approve},
    {.name = "approve_both", .about = "Asks for two yeses.", .effects = PG_READ_ONLY, .parameters = two_reasons, .run = approve_both},
    {.name = "choose", .about = "Asks for one of several answers.", .effects = PG_READ_ONLY, .parameters = options, .run = choose},
    {.name = "paint", .about = "Asks for a colour by its label.", .effects = PG_READ_ONLY, .run = paint},
    {.name = "text", .about = "Asks for free text.", .effects = PG_READ_ONLY, .parameters = a_reason, .run = text},
    {.name = "form", .about = "Asks for an address by a form.", .effects = PG_READ_ONLY, .parameters = a_parcel, .run = form},
    {.name = "rate", .about = "Asks a question of a kind of its own.", .effects = PG_READ_ONLY, .parameters = a_subject, .run = rate},
    {.name = "trip", .about = "Asks three questions, and keeps what it learned in saved state.", .effects = PG_READ_ONLY, .parameters = places, .run = trip},
    {.name = "swallow", .about = "Asks, and drops its own question.", .effects = PG_READ_ONLY, .run = swallow},
    {.name = "save_much", .about = "Saves a long text, then asks.", .effects = PG_READ_ONLY, .parameters = bytes, .run = save_much},
    {.name = "say", .about = "Writes a line at each level.", .effects = PG_READ_ONLY, .parameters = a_text, .run = say},
    {.name = "count", .about = "Reports its progress.", .effects = PG_READ_ONLY, .parameters = to, .run = count},
    {.name = "read", .about = "Reads a file.", .effects = PG_READ_ONLY, .parameters = a_path, .run = read_file},
    {.name = "write", .about = "Writes a file.", .effects = PG_ONCE, .parameters = path_and_text, .run = write_file},
    {.name = "list", .about = "Lists a folder.", .effects = PG_READ_ONLY, .parameters = a_path, .run = list_folder},
    {.name = "get", .about = "Makes a GET request.", .effects = PG_READ_ONLY, .parameters = a_url, .run = get},
    {.name = "env", .about = "Looks up a variable of the environment.", .effects = PG_READ_ONLY, .parameters = a_name, .run = env},
    {.name = "now", .about = "Tells the time.", .effects = PG_READ_ONLY, .run = now},
    {.name = "random", .about = "Rolls a number below 2^48.", .effects = PG_READ_ONLY, .run = random_number},
    {.name = "big", .about = "Makes a long text.", .effects = PG_READ_ONLY, .parameters = bytes, .run = big},
    {.name = "length", .about = "Counts the bytes of its text as UTF-8.", .effects = PG_READ_ONLY, .parameters = a_text, .run = length},
    {.name = "broken", .about = "Hands back text that is not Unicode.", .effects = PG_READ_ONLY, .run = broken},
    {.name = "pieces", .about = "Hands back text, a value and bytes.", .effects = PG_READ_ONLY, .run = pieces},
    {.name = "nothing", .about = "Hands nothing back.", .effects = PG_READ_ONLY, .run = nothing},
    {.name = "about", .about = "Tells what it knows of its call.", .effects = PG_READ_ONLY, .run = about},
    {.name = "counter", .about = "Counts its calls in memory, which does not last.", .effects = PG_READ_ONLY, .run = counter},
    {.name = "keep", .about = "Keeps a text under a key.", .effects = PG_ONCE, .parameters = key_and_value, .run = keep},
    {.name = "kept", .about = "Tells what is kept under a key.", .effects = PG_READ_ONLY, .parameters = a_key, .run = kept},
    {.name = "forget", .about = "Takes a key away.", .effects = PG_ONCE, .parameters = a_key, .run = forget},
    {.name = "keys", .about = "Lists the keys that are kept.", .effects = PG_READ_ONLY, .run = keys},
    {.name = "setting", .about = "Tells a setting of the operator's.", .effects = PG_READ_ONLY, .parameters = a_name, .run = setting},
    {0}};

static const pg_want wants[] = {{"fs", "{\"mount\": \"/data\", \"access\": \"write\"}", "reads and writes test files"}, {0}};

PG_PLUGIN(tools, wants)
PG_RECONCILE(found)
