/* Runs on this machine, in a folder of its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "testing.h"

#define CHECK(holds) \
  do { \
    if (!(holds)) { \
      fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #holds); \
      exit(1); \
    } \
  } while (0)

static char folder[] = "/tmp/grep-c-XXXXXX";

static void put(const char *name, const char *text) {
  char path[256];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "wb");
  CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

/* The result, or the failure's kind. */
static const char *search(const char *more) {
  static char kept[4096];
  char arguments[512];
  snprintf(arguments, sizeof arguments, "{\"folder\": \"%s\", %s}", folder, more);
  pg_test *test = pg_test_new("search", arguments);
  const pg_outcome *outcome = pg_test_run(test);
  snprintf(kept, sizeof kept, "%s", outcome->is == PG_FAILED ? outcome->kind : pg_test_json(outcome));
  pg_test_free(test);
  return kept;
}

int main(void) {
  char below[64];
  CHECK(mkdtemp(folder));
  snprintf(below, sizeof below, "%s/sub", folder);
  CHECK(mkdir(below, 0700) == 0);
  put("a.txt", "one\ntwo\r\nThree two\n");
  put("sub/b.txt", "two");
  put("bytes", "two \xff\xfe\n");
  char expected[512];
  snprintf(expected, sizeof expected,
           "{\"matches\":[{\"path\":\"%s/a.txt\",\"line\":2,\"text\":\"two\"},{\"path\":\"%s/sub/b.txt\",\"line\":1,\"text\":\"two\"}],"
           "\"files\":3,\"more\":false}",
           folder, folder);
  CHECK(strcmp(search("\"pattern\": \"^two\""), expected) == 0);
  puts("ok lines are found in files below, and what is no text is left out");
  CHECK(strstr(search("\"pattern\": \"THREE\", \"ignore_case\": true"), "\"line\":3"));
  CHECK(!strstr(search("\"pattern\": \"THREE\""), "\"line\""));
  puts("ok case counts unless told otherwise");
  CHECK(strstr(search("\"pattern\": \"two\", \"most\": 1"), "\"more\":true"));
  puts("ok there is an end to what is found");
  CHECK(strcmp(search("\"pattern\": \"(\""), "invalid-input") == 0);
  snprintf(folder, sizeof folder, "%s", "/tmp/none");
  CHECK(strcmp(search("\"pattern\": \"x\""), "not-found") == 0);
  puts("ok a wrong pattern and a missing folder are failures of their kind");
  return 0;
}
