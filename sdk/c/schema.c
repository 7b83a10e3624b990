/* From tables to JSON Schema, and what can be wrong with the tables. */
#include <stdlib.h>
#include <string.h>

#include "core.h"

static const char *type_of(pg_type type) {
  static const char *const names[] = {NULL, "string", "integer", "number", "boolean", "array", "object", NULL};
  return names[type];
}

static yyjson_mut_val *property(yyjson_mut_doc *doc, const pg_parameter *parameter, const char **wrong) {
  yyjson_mut_val *schema = yyjson_mut_obj(doc);
  const char *type = type_of(parameter->type);
  if (type && parameter->optional && !parameter->fallback) {
    yyjson_mut_val *types = yyjson_mut_obj_add_arr(doc, schema, "type");
    yyjson_mut_arr_add_str(doc, types, type);
    yyjson_mut_arr_add_str(doc, types, "null");
  } else if (type) {
    yyjson_mut_obj_add_str(doc, schema, "type", type);
  }
  if (parameter->about) yyjson_mut_obj_add_strcpy(doc, schema, "description", parameter->about);
  if (parameter->fallback) {
    yyjson_doc *value = yyjson_read(parameter->fallback, strlen(parameter->fallback), 0);
    if (!value) *wrong = "a `fallback` is not JSON";
    yyjson_mut_obj_add_val(doc, schema, "default", yyjson_val_mut_copy(doc, yyjson_doc_get_root(value)));
    yyjson_doc_free(value);
  }
  if (!parameter->schema) return schema;
  yyjson_doc *more = yyjson_read(parameter->schema, strlen(parameter->schema), 0);
  if (!yyjson_is_obj(yyjson_doc_get_root(more))) *wrong = "a `schema` is not a JSON object";
  size_t at, count;
  yyjson_val *key, *value;
  yyjson_obj_foreach(yyjson_doc_get_root(more), at, count, key, value) {
    yyjson_mut_obj_put(schema, yyjson_val_mut_copy(doc, key), yyjson_val_mut_copy(doc, value));
  }
  yyjson_doc_free(more);
  return schema;
}

char *pg_input_schema(const pg_tool *tool, const char **wrong) {
  yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
  yyjson_mut_val *root = yyjson_mut_obj(doc), *required = yyjson_mut_arr(doc);
  yyjson_mut_doc_set_root(doc, root);
  yyjson_mut_obj_add_str(doc, root, "type", "object");
  yyjson_mut_val *properties = yyjson_mut_obj_add_obj(doc, root, "properties");
  *wrong = NULL;
  size_t count = 0;
  for (const pg_parameter *each = tool->parameters; each && each->name; each++) {
    if (++count > PG_PARAMETERS_MAX) *wrong = "a tool has at most 64 parameters";
    if (each->type < PG_STRING || each->type > PG_ANY) { *wrong = "a parameter has no type"; continue; }
    if (yyjson_mut_obj_get(properties, each->name)) *wrong = "two parameters have one name";
    yyjson_mut_obj_add_val(doc, properties, each->name, property(doc, each, wrong));
    if (!each->optional && !each->fallback) yyjson_mut_arr_add_str(doc, required, each->name);
  }
  if (yyjson_mut_arr_size(required)) yyjson_mut_obj_add_val(doc, root, "required", required);
  yyjson_mut_obj_add_bool(doc, root, "additionalProperties", false);
  char *text = *wrong ? NULL : yyjson_mut_write(doc, 0, NULL);
  if (!text && !*wrong) *wrong = "the schema cannot be written";
  yyjson_mut_doc_free(doc);
  return text;
}

static bool is_name(const char *name) {
  static const char *const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  size_t length = strlen(name);
  return length >= 1 && length <= 64 && strspn(name, letters) == length;
}

static const char *check_tool(const pg_tool *tool) {
  if (!is_name(tool->name)) return "a tool's name has 1 to 64 of `a-zA-Z0-9_-`";
  if (!tool->about || !*tool->about) return "`about` says what a tool does, for the model";
  if (!tool->run) return "a tool has no function `run`";
  const char *wrong;
  free(pg_input_schema(tool, &wrong));
  return wrong;
}

const char *pg_check_plugin(const pg_plugin *plugin) {
  size_t count = 0;
  for (const pg_tool *tool = plugin->tools; tool && tool->name; tool++) {
    if (++count > PG_TOOLS_MAX) return "a plugin has at most 256 tools";
    const char *wrong = check_tool(tool);
    if (wrong) return wrong;
    for (const pg_tool *earlier = plugin->tools; earlier < tool; earlier++)
      if (strcmp(earlier->name, tool->name) == 0) return "two tools have one name";
  }
  return count ? NULL : "the plugin has no tools";
}
