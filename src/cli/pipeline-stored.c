/* Words that name stored pipelines (see pipeline-stored.h). */
#include "cli/pipeline-stored.h"

#include <string.h>

#include "base/err.h"
#include "base/number.h"
#include "net/url.h"

void pipeline_word_clear(PipelineWord *word)
{
        g_clear_pointer(&word->name, g_free);
}

bool pipeline_word_parse(const char *text, PipelineWord *ret, GError **error)
{
        const char *at = strrchr(text, '@');
        g_autoptr(GError) cause = NULL;

        *ret = (PipelineWord){ .name = at ? g_strndup(text, (gsize)(at - text)) : g_strdup(text) };
        if (!*ret->name)
                return err_set(error, ERR_USAGE, "'%.130s' names no pipeline\nGive NAME or NAME@VERSION.",
                               text);
        return !at || number_parse("version", at + 1, 1, G_MAXINT, &ret->version, &cause) ||
               err_set(error, ERR_USAGE, "'%.130s': %s\nGive NAME or NAME@VERSION.", text, cause->message);
}

char *pipeline_path(const char *name, const char *suffix, const char *user)
{
        g_autofree char *escaped = url_escape(name), *whose = user ? url_escape(user) : NULL;

        return g_strdup_printf("/v1/pipelines/%s%s%s%s", escaped, suffix, whose ? "?user=" : "",
                               whose ? whose : "");
}
