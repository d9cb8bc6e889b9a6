/* Warnings about valid input that is probably a mistake (see submission.h). */
#include <string.h>

#include "cli/submission.h"

/* True if a word of a command is exactly one of our options: "--follow", "--trainers=4", "-n". */
static bool is_ours(const char *word)
{
        gsize len = strcspn(word, "=");
        g_autofree char *name = NULL;

        if (strcmp(word, "-n") == 0)
                return true;
        if (!g_str_has_prefix(word, "--"))
                return false;
        name = g_strndup(word + 2, len - 2);
        for (const Option *option = submission_short_options; option->name; option++)
                if (strcmp(option->name, name) == 0 || g_strcmp0(option->alias, name) == 0)
                        return true;
        return false;
}

char *submission_words_note(char *const *words)
{
        g_autoptr(GString) ours = g_string_new(NULL);

        for (int i = 1; words[0] && words[i]; i++)
                if (is_ours(words[i]))
                        g_string_append_printf(ours, "%s'%.*s'", ours->len ? ", " : "",
                                               (int)strcspn(words[i], "="), words[i]);
        if (!ours->len)
                return NULL;
        return g_strdup_printf(
                "%s after the command go%s to the program '%s'\nPut options of paddle before the command: "
                "paddle submit [OPTIONS] -- %s ...",
                ours->str, strchr(ours->str, ',') ? "" : "es", words[0], words[0]);
}

char *submission_path_note(const char *what, const char *path)
{
        if (!path || path[0] != '/' || strcmp(path, "/pfs") == 0 || g_str_has_prefix(path, "/pfs/"))
                return NULL;
        return g_strdup_printf(
                "%s: '%s' is a directory of the server's storage, below your home there, not of this "
                "machine\n`paddle storage ls` shows what is there; `paddle upload` and `paddle "
                "download` copy from here to there and back.",
                what, path);
}
