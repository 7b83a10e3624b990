/* Finds lines in the files below a folder, by a POSIX extended regular expression. */
#include <dirent.h>
#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "pausegate.h"

/* Longer lines are cut, and folders that lie deeper are left out. */
#define LINE_BYTES_MAX 4096
#define SHOWN_BYTES_MAX 300
#define DEPTH_MAX 16

typedef struct {
  pg_call *call;
  regex_t pattern;
  yyjson_mut_val *matches;
  int64_t most;
  int64_t files;
} search;

static bool is_full(const search *search) { return (int64_t)yyjson_mut_arr_size(search->matches) >= search->most; }

/* The bytes of `line` up to a limit that cuts no letter of UTF-8 in two. */
static size_t shown_length(const char *line) {
  size_t length = strlen(line);
  if (length <= SHOWN_BYTES_MAX) return length;
  length = SHOWN_BYTES_MAX;
  while (length > 0 && ((unsigned char)line[length] & 0xc0) == 0x80) length--;
  return length;
}

static void add(search *search, const char *path, int64_t number, const char *line) {
  yyjson_mut_doc *doc = pg_doc(search->call);
  yyjson_mut_val *text = yyjson_mut_strncpy(doc, line, shown_length(line));
  yyjson_mut_val *match = yyjson_mut_obj(doc);
  yyjson_mut_obj_add_strcpy(doc, match, "path", path);
  yyjson_mut_obj_add_int(doc, match, "line", number);
  yyjson_mut_obj_add_val(doc, match, "text", text);
  /* Lines that are no UTF-8 cannot be shown. */
  char *written = yyjson_mut_val_write(match, 0, NULL);
  if (written) yyjson_mut_arr_append(search->matches, match);
  free(written);
}

static void search_file(search *search, const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) {
    pg_log(PG_WARN, "%s: %s", path, strerror(errno));
    return;
  }
  search->files++;
  char line[LINE_BYTES_MAX];
  bool whole = true;
  for (int64_t number = 0; !is_full(search) && fgets(line, sizeof line, file);) {
    /* The rest of a line that was cut is no line of its own. */
    bool begins = whole;
    size_t length = strlen(line);
    whole = length > 0 && line[length - 1] == '\n';
    if (!begins) continue;
    number++;
    line[strcspn(line, "\r\n")] = 0;
    if (regexec(&search->pattern, line, 0, NULL, 0) == 0) add(search, path, number, line);
  }
  fclose(file);
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* The names in a folder, in order. NULL, and `errno`, if it cannot be read. */
static const char **names_in(pg_call *call, const char *path, size_t *count) {
  DIR *folder = opendir(path);
  if (!folder) return NULL;
  size_t room = 64;
  const char **names = pg_alloc(call, room * sizeof *names);
  *count = 0;
  for (struct dirent *entry; (entry = readdir(folder));) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    if (*count == room) {
      const char **more = pg_alloc(call, 2 * room * sizeof *more);
      memcpy(more, names, room * sizeof *names);
      names = more;
      room *= 2;
    }
    names[(*count)++] = pg_format(call, "%s", entry->d_name);
  }
  closedir(folder);
  qsort(names, *count, sizeof *names, by_name);
  return names;
}

static void search_folder(search *search, const char *path, int depth) {
  size_t count;
  const char **names = names_in(search->call, path, &count);
  if (!names && depth == 0) pg_fail_errno(search->call, path);
  if (!names) return;
  for (size_t at = 0; at < count && !is_full(search); at++) {
    const char *below = pg_format(search->call, "%s/%s", path, names[at]);
    struct stat about;
    if (lstat(below, &about) != 0) continue;
    if (S_ISREG(about.st_mode)) search_file(search, below);
    if (S_ISDIR(about.st_mode) && depth < DEPTH_MAX) search_folder(search, below, depth + 1);
  }
}

static void run(pg_call *call) {
  search search = {.call = call, .most = pg_integer(call, "most")};
  int flags = REG_EXTENDED | REG_NOSUB | (pg_boolean(call, "ignore_case") ? REG_ICASE : 0);
  int wrong = regcomp(&search.pattern, pg_string(call, "pattern"), flags);
  if (wrong) {
    char words[128];
    regerror(wrong, &search.pattern, words, sizeof words);
    pg_fail(call, "invalid-input", "`pattern`: %s", words);
    return;
  }
  search.matches = yyjson_mut_arr(pg_doc(call));
  search_folder(&search, pg_string(call, "folder"), 0);
  regfree(&search.pattern);
  yyjson_mut_val *found = yyjson_mut_obj(pg_doc(call));
  yyjson_mut_obj_add_val(pg_doc(call), found, "matches", search.matches);
  yyjson_mut_obj_add_int(pg_doc(call), found, "files", search.files);
  yyjson_mut_obj_add_bool(pg_doc(call), found, "more", is_full(&search));
  pg_json(call, found);
}

static const pg_parameter parameters[] = {
    {"folder", PG_STRING, "Where to look, such as `/files`."},
    {"pattern", PG_STRING, "A POSIX extended regular expression."},
    {"ignore_case", PG_BOOLEAN, "Whether `a` is `A`.", .fallback = "false"},
    {"most", PG_INTEGER, "How many lines are wanted at most.", .fallback = "50", .schema = "{\"minimum\": 1, \"maximum\": 500}"},
    {0}};

static const pg_tool tools[] = {
    {.name = "search",
     .about = "Finds lines in all files below a folder. Hands back path, number and text of each, how many files were read, and "
              "whether there may be more.",
     .effects = PG_READ_ONLY,
     .parameters = parameters,
     .run = run},
    {0}};

static const pg_want wants[] = {{"fs", "{\"mount\": \"/files\", \"access\": \"read\"}", "searches files there"}, {0}};

PG_PLUGIN(tools, wants)
