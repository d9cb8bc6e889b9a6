/* paddle completion: a shell's completion script. */
#include <string.h>

#include "base/err.h"
#include "cli/completion.h"
#include "cli/verbs.h"

static const Option options[] = {
        COMMON_OPTIONS,
        { 0 },
};

static bool run(Cli *cli, const void *target, char *const *words, GError **error)
{
        static const struct {
                const char *shell;
                char *(*script)(const Verb *const *verbs);
        } rows[] = { { "bash", completion_bash }, { "zsh", completion_zsh }, { "fish", completion_fish } };

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_autofree char *script = NULL;

                if (strcmp(words[0], rows[i].shell) != 0)
                        continue;
                script = rows[i].script(cli_verbs);
                fputs(script, stdout);
                return true;
        }
        return err_set(error, ERR_USAGE, "there is no completion for '%.40s'; it is one of bash, zsh, fish",
                       words[0]);
}

const Verb verb_completion = {
        .name = "completion",
        .args = "bash|zsh|fish",
        .summary = "Print a completion script for a shell",
        .examples = "source <(paddle completion bash)\tin ~/.bashrc",
        .options = options,
        .size = sizeof(Common),
        .min_words = 1,
        .max_words = 1,
        .words = WORDS_SHELLS,
        .run = run,
};
