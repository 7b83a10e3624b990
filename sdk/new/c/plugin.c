/* The plugin `%NAME%`. */
#include "pausegate.h"

static void greet(pg_call *call) { pg_text(call, "Hello, %s!", pg_string(call, "name")); }

static void send_greeting(pg_call *call) {
  const char *name = pg_string(call, "name");
  /* False until a person answered: return. Then the function runs again from its start and gets past it. */
  if (!pg_ask_approval(call, "Send a greeting to %s", name)) return;
  pg_text(call, "greeted %s", name);
}

static const pg_parameter person[] = {{"name", PG_STRING, "Whom to greet."}, {0}};
static const pg_tool tools[] = {
    {.name = "greet", .about = "Greets someone.", .effects = PG_READ_ONLY, .parameters = person, .run = greet},
    {.name = "send", .about = "Sends a greeting, once a person has approved it.", .effects = PG_ONCE, .parameters = person, .run = send_greeting},
    {0}};
static const pg_want wants[] = {{0}};

PG_PLUGIN(tools, wants)
