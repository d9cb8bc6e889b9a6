/* Texts of tests: JSON with ` in the place of ", and what is read from it. */
#pragma once

#include <string.h>

#include "base/json.h"
#include "runtime/kubernetes/pod/setting.h"

/* The caller's. */
static inline char *quoted(const char *text)
{
        return g_strdelimit(g_strdup(text), "`", '"');
}

static inline json_t *json_of(const char *text)
{
        g_autofree char *json = quoted(text);
        g_autoptr(GError) error = NULL;
        json_t *value = json_parse(json, strlen(json), &error);

        g_assert_no_error(error);
        return value;
}

static inline Setting *setting_of(const char *text)
{
        g_autofree char *json = quoted(text);
        g_autoptr(GError) error = NULL;
        Setting *setting = setting_parse(json, &error);

        g_assert_no_error(error);
        return setting;
}
