/* What the files of the component's side share. */
#ifndef PAUSEGATE_HOST_WASM_H
#define PAUSEGATE_HOST_WASM_H

#include "bindings/plugin_sdk.h"
#include "core.h"

/* Text that is UTF-8, with U+FFFD for what is not: nothing else crosses to the host. A copy, which the bindings free. */
plugin_sdk_string_t pg_valid(const char *text, size_t length);

#endif
