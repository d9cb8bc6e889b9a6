/* paddle help: the overview, a verb's help, and the man pages. */
#include "base/err.h"
#include "cli/help.h"
#include "cli/verbs.h"

typedef struct {
        Common common;
        bool man;
} Help;

static const Option options[] = {
        { "man", 0, OPTION_BOOL, offsetof(Help, man), NULL, "as the text of a man page" },
        COMMON_OPTIONS,
        { 0 },
};

static char *text_for(const Cli *cli, const Help *help, const Verb *verb)
{
        if (!verb)
                return help->man ? help_man_overview(cli_verbs) : help_overview(cli_verbs, cli_groups);
        return help->man ? help_man_verb(verb) : help_verb(verb, cli->terminal.width);
}

static bool run(Cli *cli, const void *target, char *const *words, GError **error)
{
        int argc = (int)g_strv_length((char **)words), used = 0;
        const Verb *verb = argc > 0 ? verb_find(cli_verbs, argc, words, &used) : NULL;
        g_autofree char *text = argc == 1 && !verb ? help_family(cli_verbs, words[0]) : NULL;

        if (text) {
                fputs(text, stdout);
                return true;
        }
        if (used < argc) {
                const char *near = verb_nearest(cli_verbs, words[used]);

                return err_set(error, ERR_USAGE, "there is no verb '%.64s'%s%s%s", words[used],
                               near ? "\nDid you mean 'paddle " : "", near ? near : "", near ? "'?" : "");
        }
        text = text_for(cli, target, verb);
        fputs(text, stdout);
        return true;
}

const Verb verb_help = {
        .name = "help",
        .args = "[VERB]",
        .summary = "Show the overview, or the help of a verb",
        .options = options,
        .size = sizeof(Help),
        .max_words = 2,
        .words = WORDS_VERBS,
        .run = run,
};
