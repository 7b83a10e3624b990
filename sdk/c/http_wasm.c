/* Requests by `wasi:http`. A plugin that calls no `pg_http` does not import it. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "bindings/plugin_sdk.h"
#include "core.h"

#define BODY_BYTES_MAX (8 * 1024 * 1024)
#define CHUNK_BYTES (64 * 1024)
#define WRITE_BYTES 4096

static plugin_sdk_string_t slice(const char *text, size_t length) { return (plugin_sdk_string_t){(uint8_t *)text, length}; }

static wasi_http_types_method_t method_of(const char *name) {
  static const char *const known[] = {"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"};
  wasi_http_types_method_t made = {.tag = WASI_HTTP_TYPES_METHOD_OTHER, .val.other = slice(name, strlen(name))};
  for (size_t at = 0; at < sizeof known / sizeof *known; at++)
    if (strcmp(name, known[at]) == 0) made = (wasi_http_types_method_t){.tag = (uint8_t)at};
  return made;
}

static const pg_response *failed(pg_call *call, const pg_request *request, uint8_t code) {
  const char *kind = "unavailable", *words = "the server cannot be reached";
  switch (code) {
    case WASI_HTTP_TYPES_ERROR_CODE_HTTP_REQUEST_DENIED: kind = "denied", words = "no grant allows it"; break;
    case WASI_HTTP_TYPES_ERROR_CODE_DESTINATION_IP_PROHIBITED: kind = "denied", words = "its address is not allowed"; break;
    case WASI_HTTP_TYPES_ERROR_CODE_HTTP_REQUEST_METHOD_INVALID: kind = "invalid-input", words = "no such method"; break;
    case WASI_HTTP_TYPES_ERROR_CODE_HTTP_REQUEST_URI_INVALID: kind = "invalid-input", words = "not a URL"; break;
    case WASI_HTTP_TYPES_ERROR_CODE_HTTP_REQUEST_BODY_SIZE: case WASI_HTTP_TYPES_ERROR_CODE_HTTP_RESPONSE_BODY_SIZE:
      kind = "too-large", words = "the body is too large"; break;
    case WASI_HTTP_TYPES_ERROR_CODE_DNS_TIMEOUT: case WASI_HTTP_TYPES_ERROR_CODE_CONNECTION_TIMEOUT:
    case WASI_HTTP_TYPES_ERROR_CODE_CONNECTION_READ_TIMEOUT: case WASI_HTTP_TYPES_ERROR_CODE_CONNECTION_WRITE_TIMEOUT:
    case WASI_HTTP_TYPES_ERROR_CODE_HTTP_RESPONSE_TIMEOUT:
      kind = "timeout", words = "the server took too long"; break;
    default: break;
  }
  pg_fail(call, kind, "%s: %s", request->url, words);
  return NULL;
}

/* The parts of `scheme://authority/path?query`. */
static bool address(wasi_http_types_borrow_outgoing_request_t message, const char *url) {
  bool secure = strncmp(url, "https://", 8) == 0;
  if (!secure && strncmp(url, "http://", 7) != 0) return false;
  const char *authority = url + (secure ? 8 : 7);
  size_t length = strcspn(authority, "/?#");
  const char *path = authority + length;
  wasi_http_types_scheme_t scheme = {.tag = secure ? WASI_HTTP_TYPES_SCHEME_HTTPS : WASI_HTTP_TYPES_SCHEME_HTTP};
  plugin_sdk_string_t where = slice(authority, length), what = slice(path, strcspn(path, "#"));
  char root[] = "/";
  if (what.len == 0) what = slice(root, 1);
  return length > 0 && wasi_http_types_method_outgoing_request_set_scheme(message, &scheme) &&
         wasi_http_types_method_outgoing_request_set_authority(message, &where) &&
         wasi_http_types_method_outgoing_request_set_path_with_query(message, &what);
}

static bool fields(pg_call *call, const pg_request *request, wasi_http_types_own_fields_t *made) {
  size_t count = 0;
  while (request->headers && request->headers[2 * count]) count++;
  wasi_http_types_tuple2_field_name_field_value_t *pairs = pg_alloc(call, (count + 1) * sizeof *pairs);
  for (size_t at = 0; at < count; at++) {
    const char *name = request->headers[2 * at], *value = request->headers[2 * at + 1];
    pairs[at].f0 = slice(name, strlen(name));
    pairs[at].f1 = (wasi_http_types_field_value_t){(uint8_t *)value, strlen(value)};
  }
  wasi_http_types_list_tuple2_field_name_field_value_t list = {pairs, count};
  wasi_http_types_header_error_t error;
  return wasi_http_types_static_fields_from_list(&list, made, &error);
}

static void write_body(wasi_http_types_own_outgoing_body_t body, const pg_request *request) {
  wasi_http_types_own_output_stream_t stream;
  wasi_http_types_error_code_t error;
  if (wasi_http_types_method_outgoing_body_write(wasi_http_types_borrow_outgoing_body(body), &stream)) {
    const uint8_t *bytes = request->body;
    for (size_t at = 0; at < request->body_length;) {
      size_t length = request->body_length - at < WRITE_BYTES ? request->body_length - at : WRITE_BYTES;
      plugin_sdk_list_u8_t part = {(uint8_t *)bytes + at, length};
      wasi_io_streams_stream_error_t broken;
      /* A refused request closes its body; what it was refused for is in the response. */
      if (!wasi_io_streams_method_output_stream_blocking_write_and_flush(wasi_io_streams_borrow_output_stream(stream), &part, &broken)) break;
      at += length;
    }
    wasi_io_streams_output_stream_drop_own(stream);
  }
  wasi_http_types_static_outgoing_body_finish(body, NULL, &error);
}

static const pg_response *read_response(pg_call *call, const pg_request *request, wasi_http_types_own_incoming_response_t response) {
  pg_response *made = pg_alloc(call, sizeof *made);
  wasi_http_types_borrow_incoming_response_t borrowed = wasi_http_types_borrow_incoming_response(response);
  *made = (pg_response){.status = wasi_http_types_method_incoming_response_status(borrowed)};
  wasi_http_types_own_incoming_body_t body;
  wasi_http_types_own_input_stream_t stream;
  if (!wasi_http_types_method_incoming_response_consume(borrowed, &body) ||
      !wasi_http_types_method_incoming_body_stream(wasi_http_types_borrow_incoming_body(body), &stream)) {
    pg_fail(call, "unavailable", "%s: the response has no body to read", request->url);
    return NULL;
  }
  size_t most = request->bytes_max ? request->bytes_max : BODY_BYTES_MAX, length = 0, room = CHUNK_BYTES;
  char *text = malloc(room + 1);
  if (!text) abort();
  for (;;) {
    plugin_sdk_list_u8_t part;
    wasi_io_streams_stream_error_t error;
    if (!wasi_io_streams_method_input_stream_blocking_read(wasi_io_streams_borrow_input_stream(stream), CHUNK_BYTES, &part, &error)) {
      if (error.tag == WASI_IO_STREAMS_STREAM_ERROR_CLOSED) break;
      pg_fail(call, "unavailable", "%s: the response broke off", request->url);
      return NULL;
    }
    if (part.len > most - length) {
      pg_fail(call, "too-large", "%s: the response is longer than %zu bytes", request->url, most);
      return NULL;
    }
    while (length + part.len > room) room *= 2;
    text = realloc(text, room + 1);
    if (!text) abort();
    if (part.len) memcpy(text + length, part.ptr, part.len);
    length += part.len;
    plugin_sdk_list_u8_free(&part);
  }
  text[length] = 0;
  made->body = text;
  made->body_length = length;
  wasi_io_streams_input_stream_drop_own(stream);
  wasi_http_types_incoming_body_drop_own(body);
  wasi_http_types_incoming_response_drop_own(response);
  return made;
}

const pg_response *pg_host_http(pg_call *call, const pg_request *request) {
  wasi_http_types_own_fields_t headers;
  if (!fields(call, request, &headers)) {
    pg_fail(call, "invalid-input", "%s: a header cannot be sent", request->url);
    return NULL;
  }
  wasi_http_types_own_outgoing_request_t message = wasi_http_types_constructor_outgoing_request(headers);
  wasi_http_types_borrow_outgoing_request_t borrowed = wasi_http_types_borrow_outgoing_request(message);
  wasi_http_types_method_t method = method_of(request->method ? request->method : "GET");
  wasi_http_types_own_outgoing_body_t body;
  if (!wasi_http_types_method_outgoing_request_set_method(borrowed, &method) || !address(borrowed, request->url) ||
      !wasi_http_types_method_outgoing_request_body(borrowed, &body)) {
    pg_fail(call, "invalid-input", "%s: not an `http` or `https` URL, or no such method", request->url);
    return NULL;
  }
  wasi_http_types_own_future_incoming_response_t future;
  wasi_http_types_error_code_t error;
  if (!wasi_http_outgoing_handler_handle(message, NULL, &future, &error)) return failed(call, request, error.tag);
  write_body(body, request);
  wasi_http_types_borrow_future_incoming_response_t waiting = wasi_http_types_borrow_future_incoming_response(future);
  wasi_io_poll_own_pollable_t ready = wasi_http_types_method_future_incoming_response_subscribe(waiting);
  wasi_io_poll_method_pollable_block(wasi_io_poll_borrow_pollable(ready));
  wasi_io_poll_pollable_drop_own(ready);
  wasi_http_types_result_result_own_incoming_response_error_code_void_t answer;
  if (!wasi_http_types_method_future_incoming_response_get(waiting, &answer) || answer.is_err) {
    pg_fail(call, "unavailable", "%s: the response went away", request->url);
    return NULL;
  }
  if (answer.val.ok.is_err) return failed(call, request, answer.val.ok.val.err.tag);
  return read_response(call, request, answer.val.ok.val.ok);
}
