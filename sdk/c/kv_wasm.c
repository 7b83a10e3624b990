/* Values by `wasi:keyvalue`, settings by `wasi:config`. A plugin that uses neither imports neither. */
#include <stdlib.h>
#include <string.h>

#include "bindings/plugin_sdk.h"
#include "host_wasm.h"

typedef wasi_keyvalue_store_borrow_bucket_t bucket;

static bool refused(pg_call *call, const wasi_keyvalue_store_error_t *error) {
  if (error->tag == WASI_KEYVALUE_STORE_ERROR_OTHER)
    pg_fail(call, "failed", "%.*s", (int)error->val.other.len, (const char *)error->val.other.ptr);
  else
    pg_fail(call, "denied", "no grant allows this use of kept values");
  return false;
}

/* The host knows which bucket is meant. */
static bool opened(pg_call *call, wasi_keyvalue_store_own_bucket_t *made) {
  plugin_sdk_string_t name = {(uint8_t *)"", 0};
  wasi_keyvalue_store_error_t error;
  return wasi_keyvalue_store_open(&name, made, &error) || refused(call, &error);
}

/* With a NUL at its end, as the call's own. */
static char *owned(pg_call *call, const uint8_t *bytes, size_t length) {
  char *made = pg_alloc(call, length + 1);
  if (length) memcpy(made, bytes, length);
  made[length] = 0;
  return made;
}

const char *pg_kv_get(pg_call *call, const char *key, size_t *length) {
  if (length) *length = 0;
  wasi_keyvalue_store_own_bucket_t own;
  if (pg_ended(call) || !opened(call, &own)) return NULL;
  plugin_sdk_string_t name = pg_valid(key, strlen(key));
  plugin_sdk_option_list_u8_t found = {0};
  wasi_keyvalue_store_error_t error;
  bool fine = wasi_keyvalue_store_method_bucket_get(wasi_keyvalue_store_borrow_bucket(own), &name, &found, &error) || refused(call, &error);
  wasi_keyvalue_store_bucket_drop_own(own);
  plugin_sdk_string_free(&name);
  if (!fine || !found.is_some) return NULL;
  if (length) *length = found.val.len;
  const char *value = owned(call, found.val.ptr, found.val.len);
  plugin_sdk_option_list_u8_free(&found);
  return value;
}

bool pg_kv_set(pg_call *call, const char *key, const void *value, size_t length) {
  wasi_keyvalue_store_own_bucket_t own;
  if (pg_ended(call) || !opened(call, &own)) return false;
  plugin_sdk_string_t name = pg_valid(key, strlen(key));
  plugin_sdk_list_u8_t bytes = {(uint8_t *)value, length};
  wasi_keyvalue_store_error_t error;
  bool fine = wasi_keyvalue_store_method_bucket_set(wasi_keyvalue_store_borrow_bucket(own), &name, &bytes, &error) || refused(call, &error);
  wasi_keyvalue_store_bucket_drop_own(own);
  plugin_sdk_string_free(&name);
  return fine;
}

bool pg_kv_delete(pg_call *call, const char *key) {
  wasi_keyvalue_store_own_bucket_t own;
  if (pg_ended(call) || !opened(call, &own)) return false;
  plugin_sdk_string_t name = pg_valid(key, strlen(key));
  wasi_keyvalue_store_error_t error;
  bool fine = wasi_keyvalue_store_method_bucket_delete(wasi_keyvalue_store_borrow_bucket(own), &name, &error) || refused(call, &error);
  wasi_keyvalue_store_bucket_drop_own(own);
  plugin_sdk_string_free(&name);
  return fine;
}

bool pg_kv_exists(pg_call *call, const char *key) {
  wasi_keyvalue_store_own_bucket_t own;
  if (pg_ended(call) || !opened(call, &own)) return false;
  plugin_sdk_string_t name = pg_valid(key, strlen(key));
  wasi_keyvalue_store_error_t error;
  bool found = false;
  bool fine = wasi_keyvalue_store_method_bucket_exists(wasi_keyvalue_store_borrow_bucket(own), &name, &found, &error) || refused(call, &error);
  wasi_keyvalue_store_bucket_drop_own(own);
  plugin_sdk_string_free(&name);
  return fine && found;
}

static int by_bytes(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

const char *const *pg_kv_keys(pg_call *call) {
  wasi_keyvalue_store_own_bucket_t own;
  if (pg_ended(call) || !opened(call, &own)) return NULL;
  const char **keys = pg_alloc(call, (PG_KV_KEYS_MAX + 1) * sizeof *keys);
  size_t count = 0;
  wasi_keyvalue_store_key_response_t page = {0};
  do {
    uint64_t from = page.cursor.val, *cursor = page.cursor.is_some ? &from : NULL;
    wasi_keyvalue_store_error_t error;
    if (!wasi_keyvalue_store_method_bucket_list_keys(wasi_keyvalue_store_borrow_bucket(own), cursor, &page, &error)) {
      refused(call, &error);
      break;
    }
    if (page.keys.len > PG_KV_KEYS_MAX - count) {
      pg_fail(call, "too-large", "there are more than %d keys", PG_KV_KEYS_MAX);
      break;
    }
    for (size_t at = 0; at < page.keys.len; at++) keys[count++] = owned(call, page.keys.ptr[at].ptr, page.keys.ptr[at].len);
  } while (page.cursor.is_some);
  wasi_keyvalue_store_bucket_drop_own(own);
  if (pg_ended(call)) return NULL;
  keys[count] = NULL;
  qsort(keys, count, sizeof *keys, by_bytes);
  return keys;
}

/* Both cases of the error hold the host's words. */
static bool unread(pg_call *call, const wasi_config_store_error_t *error) {
  pg_fail(call, "unavailable", "%.*s", (int)error->val.io.len, (const char *)error->val.io.ptr);
  return false;
}

const char *pg_config(pg_call *call, const char *name) {
  plugin_sdk_string_t key = pg_valid(name, strlen(name));
  plugin_sdk_option_string_t found = {0};
  wasi_config_store_error_t error;
  bool fine = wasi_config_store_get(&key, &found, &error) || unread(call, &error);
  plugin_sdk_string_free(&key);
  return fine && found.is_some ? owned(call, found.val.ptr, found.val.len) : NULL;
}

const char *const *pg_config_names(pg_call *call) {
  plugin_sdk_list_tuple2_string_string_t all;
  wasi_config_store_error_t error;
  if (!wasi_config_store_get_all(&all, &error)) return unread(call, &error), NULL;
  const char **names = pg_alloc(call, (all.len + 1) * sizeof *names);
  for (size_t at = 0; at < all.len; at++) names[at] = owned(call, all.ptr[at].f0.ptr, all.ptr[at].f0.len);
  names[all.len] = NULL;
  qsort(names, all.len, sizeof *names, by_bytes);
  return names;
}
