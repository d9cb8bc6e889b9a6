/* JSON in tests, with ' instead of ". */
#pragma once

#include <string.h>

#include "base/json.h"

/* The caller's. */
static inline json_t *json_of(const char *text)
{
        g_autofree char *quoted = g_strdelimit(g_strdup(text), "'", '"');
        g_autoptr(GError) error = NULL;
        json_t *value = json_parse(quoted, strlen(quoted), &error);

        g_assert_no_error(error);
        return value;
}
