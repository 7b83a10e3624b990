#include <assert.h>
#include <string.h>

#include "testing.h"

int main(void) {
  pg_test *greet = pg_test_new("greet", "{\"name\": \"Ada\"}");
  assert(strcmp(pg_test_text(pg_test_run(greet)), "Hello, Ada!") == 0);
  pg_test_free(greet);

  pg_test *send = pg_test_new("send", "{\"name\": \"Ada\"}");
  assert(strcmp(pg_test_run(send)->reason, "Send a greeting to Ada") == 0);
  pg_test_answer(send, "true");
  assert(strcmp(pg_test_text(pg_test_run(send)), "greeted Ada") == 0);
  pg_test_free(send);
}
