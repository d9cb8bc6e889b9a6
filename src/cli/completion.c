/* Completion (see completion.h). A verb of two words ("token list") is completed in two steps: the first
 * word, then the second. Names of jobs come from a running server; a completion never starts one. */
#include "cli/completion.h"

#include <string.h>

/* The first word of a verb's name, and the second or NULL; the caller's g_strfreev. */
static char **name_words(const Verb *verb)
{
        return g_strsplit(verb->name, " ", 2);
}

/* True for the first verb of its family in the table, so that each family is offered once. */
static bool is_first(const Verb *const *verbs, const Verb *const *at)
{
        g_auto(GStrv) words = name_words(*at);

        for (; verbs < at; verbs++) {
                g_auto(GStrv) other = name_words(*verbs);

                if (strcmp(words[0], other[0]) == 0)
                        return false;
        }
        return true;
}

static void append_firsts(GString *out, const Verb *const *verbs)
{
        for (const Verb *const *at = verbs; *at; at++) {
                g_auto(GStrv) words = name_words(*at);

                if (is_first(verbs, at))
                        g_string_append_printf(out, "%s%s", at > verbs ? " " : "", words[0]);
        }
}

static void append_seconds(GString *out, const Verb *const *verbs, const char *family)
{
        for (; *verbs; verbs++) {
                g_auto(GStrv) words = name_words(*verbs);

                if (words[1] && strcmp(words[0], family) == 0)
                        g_string_append_printf(out, "%s ", words[1]);
        }
}

static const char job_names[] = "paddle list --limit 50 -o name 2>/dev/null";

/* Completion of positional words: a bash expression that fills COMPREPLY. */
static const char *const bash_words[] = {
        [WORDS_NONE] = ":",
        [WORDS_JOBS] = "_paddle_jobs",
        [WORDS_JOB] = "_paddle_jobs",
        [WORDS_MEMBER] = "_paddle_jobs",
        [WORDS_FILES] = "COMPREPLY=($(compgen -f -- \"$cur\"))",
        [WORDS_COMMAND] = "COMPREPLY=($(compgen -c -f -- \"$cur\"))",
        [WORDS_SHELLS] = "COMPREPLY=($(compgen -W 'bash zsh fish' -- \"$cur\"))",
        [WORDS_VERBS] = "COMPREPLY=($(compgen -W \"$verbs\" -- \"$cur\"))",
        [WORDS_OBJECTS] = "_paddle_objects \"${first%% *}\"",
};

static bool takes_value(const Option *option)
{
        return option->type != OPTION_BOOL && option->type != OPTION_SWITCH &&
               option->type != OPTION_OPTIONAL;
}

static void bash_verb(GString *out, const Verb *verb)
{
        g_string_append_printf(out, "    '%s')\n        options='", verb->name);
        for (const Option *option = verb->options; option->name; option++) {
                if (option->help && option->type == OPTION_SWITCH)
                        g_string_append_printf(out, "--no-%s ", option->name);
                if (option->help)
                        g_string_append_printf(out, "--%s%s", option->name, takes_value(option) ? "= " : " ");
        }
        g_string_append_printf(out, "'\n        words() { %s; } ;;\n", bash_words[verb->words]);
}

char *completion_bash(const Verb *const *verbs)
{
        g_autoptr(GString) out = g_string_new(
                "# bash completion of paddle: source <(paddle completion bash)\n"
                "_paddle_up() { [[ -n $PADDLE_SERVER || -S ${PADDLE_HOME:-$HOME/.paddle}/paddled.sock ]]; }\n"
                "_paddle_objects() {\n"
                "    _paddle_up && COMPREPLY=($(compgen -W \"$(paddle \"$1\" list -o name 2>/dev/null)\" -- "
                "\"$cur\"))\n"
                "}\n"
                "_paddle_jobs() {\n"
                "    _paddle_up && COMPREPLY=($(compgen -W \"$(");

        g_string_append_printf(out, "%s)\" -- \"$cur\"))\n}\n_paddle() {\n", job_names);
        g_string_append(out, "    local cur=${COMP_WORDS[COMP_CWORD]} first= second= options= i verbs='");
        append_firsts(out, verbs);
        g_string_append(
                out, "'\n"
                     "    words() { :; }\n"
                     "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
                     "        [[ ${COMP_WORDS[i]} == -* ]] && continue\n"
                     "        if [[ -z $first ]]; then first=${COMP_WORDS[i]}\n"
                     "        elif [[ -z $second ]]; then second=${COMP_WORDS[i]}; fi\n"
                     "    done\n"
                     "    [[ -z $first ]] && { COMPREPLY=($(compgen -W \"$verbs\" -- \"$cur\")); return; }\n"
                     "    case $first in\n");
        for (const Verb *const *at = verbs; *at; at++) {
                g_auto(GStrv) words = name_words(*at);

                if (!words[1] || !is_first(verbs, at))
                        continue;
                g_string_append_printf(out,
                                       "    %s)\n        [[ -z $second ]] && { COMPREPLY=($(compgen -W '",
                                       words[0]);
                append_seconds(out, verbs, words[0]);
                g_string_append(out, "' -- \"$cur\")); return; }\n        first=\"$first $second\" ;;\n");
        }
        g_string_append(out, "    esac\n    case $first in\n");
        for (const Verb *const *at = verbs; *at; at++)
                bash_verb(out, *at);
        g_string_append(out, "    esac\n"
                             "    if [[ $cur == -* ]]; then\n"
                             "        COMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
                             "        [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace\n"
                             "    else\n        words\n    fi\n"
                             "}\ncomplete -o default -F _paddle paddle\n");
        return g_string_free(g_steal_pointer(&out), FALSE);
}

/* Escapes text for single quotes, with a backslash before each character of `special`. */
static char *quoted(const char *text, const char *special, const char *quote)
{
        g_autoptr(GString) out = g_string_new(NULL);

        for (; *text; text++) {
                if (strchr(special, *text))
                        g_string_append_c(out, '\\');
                if (*text == '\'')
                        g_string_append(out, quote);
                else
                        g_string_append_c(out, *text);
        }
        return g_string_free(g_steal_pointer(&out), FALSE);
}

static const char *const zsh_words[] = {
        [WORDS_NONE] = "",
        [WORDS_JOBS] = " '*:job:_paddle_jobs'",
        [WORDS_JOB] = " '1:job:_paddle_jobs' '*::command:_normal'",
        [WORDS_MEMBER] = " '1:job:_paddle_jobs'",
        [WORDS_FILES] = " '*:file:_files'",
        [WORDS_COMMAND] = " '*::command:_normal'",
        [WORDS_SHELLS] = " '1:shell:(bash zsh fish)'",
        [WORDS_VERBS] = " '*:verb:'",
        [WORDS_OBJECTS] = " '*:name:_paddle_objects'",
};

static void zsh_option(GString *out, const Option *option)
{
        g_autofree char *help = quoted(option->help ? option->help : "", "[]:", "'\\''");
        const char *action = !option->arg                       ? ""
                             : strcmp(option->arg, "DIR") == 0  ? ":directory:_files -/"
                             : strcmp(option->arg, "FILE") == 0 ? ":file:_files"
                                                                : ":value:";

        if (!option->help)
                return;
        if (option->type == OPTION_SWITCH)
                g_string_append_printf(out, " '--no-%s[not: %s]'", option->name, help);
        g_string_append_printf(out, " '%s--%s%s[%s]%s'", option->type == OPTION_LIST ? "*" : "", option->name,
                               takes_value(option) ? "=" : "", help, action);
        if (option->letter)
                g_string_append_printf(out, " '-%c[%s]%s'", option->letter, help, action);
}

char *completion_zsh(const Verb *const *verbs)
{
        g_autoptr(GString) out = g_string_new(
                "#compdef paddle\n# zsh completion of paddle: source <(paddle completion zsh)\n");

        g_string_append_printf(
                out,
                "_paddle_up() { [[ -n $PADDLE_SERVER || -S ${PADDLE_HOME:-$HOME/.paddle}/paddled.sock ]]; }\n"
                "_paddle_objects() {\n    _paddle_up || return\n    local -a names\n"
                "    names=(${(f)\"$(paddle ${verb%% *} list -o name 2>/dev/null)\"})\n    compadd -a "
                "names\n}\n"
                "_paddle_jobs() {\n"
                "    _paddle_up || return\n"
                "    local -a jobs; jobs=(${(f)\"$(%s)\"})\n    compadd -a jobs\n}\n_paddle() {\n    local "
                "verb=$words[2]\n",
                job_names);
        g_string_append(out, "    if (( CURRENT == 2 )); then\n        local -a verbs; verbs=(");
        append_firsts(out, verbs);
        g_string_append(out, ")\n        compadd -a verbs\n        return\n    fi\n    case $verb in\n");
        for (const Verb *const *at = verbs; *at; at++) {
                g_auto(GStrv) words = name_words(*at);

                if (!words[1] || !is_first(verbs, at))
                        continue;
                g_string_append_printf(out, "    %s)\n        if (( CURRENT == 3 )); then compadd ",
                                       words[0]);
                append_seconds(out, verbs, words[0]);
                g_string_append(out, "; return; fi\n        verb=\"$words[2] $words[3]\"; shift words; (( "
                                     "CURRENT-- )) ;;\n");
        }
        g_string_append(out, "    esac\n    shift words; (( CURRENT-- ))\n    case $verb in\n");
        for (const Verb *const *at = verbs; *at; at++) {
                g_string_append_printf(out, "    '%s') _arguments", (*at)->name);
                for (const Option *option = (*at)->options; option->name; option++)
                        zsh_option(out, option);
                g_string_append_printf(out, "%s ;;\n", zsh_words[(*at)->words]);
        }
        g_string_append(out, "    esac\n}\n(( $+functions[compdef] )) && compdef _paddle paddle\n");
        return g_string_free(g_steal_pointer(&out), FALSE);
}

static void fish_verb(GString *out, const Verb *verb)
{
        g_auto(GStrv) words = name_words(verb);
        g_autofree char *seen =
                words[1] ? g_strdup_printf(
                                   "__fish_seen_subcommand_from %s; and __fish_seen_subcommand_from %s",
                                   words[0], words[1])
                         : g_strdup_printf("__fish_seen_subcommand_from %s", words[0]);

        for (const Option *option = verb->options; option->name; option++) {
                g_autofree char *help = quoted(option->help ? option->help : "", "\\", "\\'");

                if (!option->help)
                        continue;
                g_string_append_printf(out, "complete -c paddle -n '%s' -l %s", seen, option->name);
                if (option->letter)
                        g_string_append_printf(out, " -s %c", option->letter);
                g_string_append_printf(out, "%s -d '%s'\n", takes_value(option) ? " -r" : "", help);
                if (option->type == OPTION_SWITCH)
                        g_string_append_printf(out, "complete -c paddle -n '%s' -l no-%s -d 'not: %s'\n",
                                               seen, option->name, help);
        }
        if (verb->words == WORDS_JOBS || verb->words == WORDS_JOB || verb->words == WORDS_MEMBER)
                g_string_append_printf(out, "complete -c paddle -n '%s' -f -a '(__paddle_jobs)'\n", seen);
        else if (verb->words == WORDS_OBJECTS)
                g_string_append_printf(out, "complete -c paddle -n '%s' -f -a '(__paddle_objects %s)'\n",
                                       seen, words[0]);
        else if (verb->words == WORDS_SHELLS)
                g_string_append_printf(out, "complete -c paddle -n '%s' -f -a 'bash zsh fish'\n", seen);
        else if (verb->words == WORDS_NONE)
                g_string_append_printf(out, "complete -c paddle -n '%s' -f\n", seen);
}

char *completion_fish(const Verb *const *verbs)
{
        g_autoptr(GString) out =
                g_string_new("# fish completion of paddle: paddle completion fish | source\n"
                             "function __paddle_up\n"
                             "    set -q PADDLE_HOME; or set -l PADDLE_HOME $HOME/.paddle\n"
                             "    set -q PADDLE_SERVER; or test -S $PADDLE_HOME/paddled.sock\nend\n"
                             "function __paddle_objects\n"
                             "    __paddle_up; and paddle $argv[1] list -o name 2>/dev/null\nend\n"
                             "function __paddle_jobs\n    __paddle_up; and ");

        g_string_append_printf(out, "%s\nend\n", job_names);
        for (const Verb *const *at = verbs; *at; at++) {
                g_auto(GStrv) words = name_words(*at);
                g_autofree char *summary = quoted((*at)->summary, "\\", "\\'");

                if (!words[1]) {
                        g_string_append_printf(
                                out, "complete -c paddle -n __fish_use_subcommand -f -a %s -d '%s'\n",
                                words[0], summary);
                        continue;
                }
                if (is_first(verbs, at))
                        g_string_append_printf(out, "complete -c paddle -n __fish_use_subcommand -f -a %s\n",
                                               words[0]);
                g_string_append_printf(out,
                                       "complete -c paddle -n '__fish_seen_subcommand_from %s; and not "
                                       "__fish_seen_subcommand_from ",
                                       words[0]);
                append_seconds(out, verbs, words[0]);
                g_string_append_printf(out, "' -f -a %s -d '%s'\n", words[1], summary);
        }
        for (; *verbs; verbs++)
                fish_verb(out, *verbs);
        return g_string_free(g_steal_pointer(&out), FALSE);
}
