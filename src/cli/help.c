/* Help and man pages (see help.h). All words come from the rows of verbs. */
#include "cli/help.h"

#include <string.h>

#include "base/word.h"

/* Names of our commands in other systems. */
static const char *const synonyms[][2] = {
        { "ls", "list" },
        { "ps", "list" },
        { "jobs", "list" },
        { "squeue", "list" },
        { "kill", "cancel" },
        { "stop", "cancel" },
        { "rm", "delete" },
        { "scancel", "cancel" },
        { "describe", "status" },
        { "show", "status" },
        { "get", "status" },
        { "run", "submit" },
        { "sbatch", "submit" },
        { "create", "submit" },
        { "ssh", "exec" },
        { "log", "logs" },
        { "tail", "logs" },
        { "sinfo", "nodes" },
        { "logout", "token revoke" },
        { "run rerun", "run retry" },
        { "run restart", "run retry" },
        { "run resume", "run continue" },
        { "run watch", "run show --watch" },
        { "run follow", "run logs --follow" },
        { "pipeline run", "run create" },
        { "pipeline start", "run create" },
        { "pipeline submit", "run create" },
};

const char *verb_elsewhere(const char *word)
{
        for (gsize i = 0; i < G_N_ELEMENTS(synonyms); i++)
                if (strcmp(word, synonyms[i][0]) == 0)
                        return synonyms[i][1];
        return NULL;
}

/* "runs": the verb "run list", or NULL. */
static const char *list_of(const Verb *const *verbs, const char *word)
{
        g_autofree char *name = g_str_has_suffix(word, "s")
                                        ? g_strdup_printf("%.*s list", (int)strlen(word) - 1, word)
                                        : g_strdup("");

        for (; *verbs; verbs++)
                if (strcmp((*verbs)->name, name) == 0)
                        return (*verbs)->name;
        return NULL;
}

typedef struct {
        const char *word;
        const char *best;
        int distance; /* a better one has less */
} Nearest;

static void try_name(Nearest *nearest, const char *compared, const char *name)
{
        int distance = word_distance(nearest->word, compared);

        if (distance >= nearest->distance || distance >= (int)strlen(nearest->word))
                return;
        nearest->best = name;
        nearest->distance = distance;
}

/* "rn" is the family "run" before it is the last word of "storage rm". */
const char *verb_nearest(const Verb *const *verbs, const char *word)
{
        Nearest nearest = { .word = word,
                            .distance = 3 }; /* with more than two mistakes it is another word */

        nearest.best = verb_elsewhere(word);
        if (!nearest.best)
                nearest.best = list_of(verbs, word);
        if (nearest.best || strlen(word) > 32)
                return nearest.best;
        for (const Verb *const *at = verbs; *at; at++) {
                g_autofree char *family = g_strndup((*at)->name, strcspn((*at)->name, " "));

                try_name(&nearest, (*at)->name, (*at)->name);
                try_name(&nearest, family, g_intern_string(family));
        }
        for (; *verbs; verbs++)
                if (strchr((*verbs)->name, ' '))
                        try_name(&nearest, strchr((*verbs)->name, ' ') + 1, (*verbs)->name);
        return nearest.best;
}

/* Words with the same meaning as a verb's second word. */
static const char *const alike[][9] = {
        { "list", "ls", "ps", "all" },
        { "show", "get", "describe", "status", "info", "inspect", "view" },
        { "create", "add", "new", "make", "put", "start", "submit", "launch" },
        { "set", "update", "edit", "change", "modify", "patch" },
        { "delete", "rm", "remove", "del", "destroy", "revoke", "drop" },
        { "mv", "move", "rename" },
        { "du", "size", "df" },
        { "lint", "validate", "check", "verify" },
        { "render", "plan", "template", "compile" },
        { "stop", "cancel", "kill", "terminate", "abort" },
};

static bool mean_the_same(const char *a, const char *b)
{
        for (gsize i = 0; i < G_N_ELEMENTS(alike); i++) {
                bool has_a = false, has_b = false;

                for (gsize j = 0; j < G_N_ELEMENTS(alike[i]) && alike[i][j]; j++) {
                        has_a |= strcmp(alike[i][j], a) == 0;
                        has_b |= strcmp(alike[i][j], b) == 0;
                }
                if (has_a && has_b)
                        return true;
        }
        return false;
}

const char *verb_nearest_of(const Verb *const *verbs, const char *family, const char *word)
{
        g_autofree char *prefix = g_strconcat(family, " ", NULL);
        const char *best = NULL;
        int best_distance = 3; /* see above */

        for (; *verbs && strlen(word) <= 32; verbs++) {
                const char *second = (*verbs)->name + strlen(prefix);
                int near;

                if (!g_str_has_prefix((*verbs)->name, prefix))
                        continue;
                near = mean_the_same(word, second) || (strlen(word) > 2 && g_str_has_prefix(second, word))
                               ? 0
                               : word_distance(word, second);
                if (near < best_distance && near < (int)strlen(word)) {
                        best = (*verbs)->name;
                        best_distance = near;
                }
        }
        return best;
}

const Verb *verb_find(const Verb *const *verbs, int argc, char *const *argv, int *ret_used)
{
        g_autofree char *two = argc > 1 ? g_strconcat(argv[0], " ", argv[1], NULL) : NULL;
        const Verb *found = NULL;

        for (; argc > 0 && *verbs; verbs++) {
                if (two && strcmp((*verbs)->name, two) == 0) {
                        *ret_used = 2;
                        return *verbs;
                }
                if (strcmp((*verbs)->name, argv[0]) == 0) {
                        *ret_used = 1;
                        found = *verbs;
                }
        }
        return found;
}

static void wrap_paragraph(GString *out, const char *text, gsize len, int indent, int width)
{
        g_autofree char *paragraph = g_strndup(text, len);
        g_auto(GStrv) words = g_strsplit_set(paragraph, " \n", -1);
        int column = 0;

        for (char **word = words; *word; word++) {
                int size = (int)g_utf8_strlen(*word, -1);

                if (size == 0)
                        continue;
                if (column > 0 && column + 1 + size > width) {
                        g_string_append_c(out, '\n');
                        column = 0;
                }
                if (column == 0)
                        g_string_append_printf(out, "%*s", indent, "");
                else
                        g_string_append_c(out, ' ');
                g_string_append(out, *word);
                column = (column == 0 ? indent : column + 1) + size;
        }
        g_string_append_c(out, '\n');
}

char *text_wrap(const char *text, int indent, int width)
{
        g_autoptr(GString) out = g_string_new(NULL);

        while (*text) {
                const char *end = strstr(text, "\n\n");
                gsize len = end ? (gsize)(end - text) : strlen(text);

                wrap_paragraph(out, text, len, indent, width);
                text += len;
                if (end) {
                        g_string_append_c(out, '\n');
                        text += strspn(text, "\n");
                }
        }
        return g_string_free(g_steal_pointer(&out), FALSE);
}

/* The length of the first word, and whether there is a second one. */
static gsize family_len(const Verb *verb, bool *ret_more)
{
        gsize len = strcspn(verb->name, " ");

        *ret_more = verb->name[len] == ' ';
        return len;
}

static bool same_family(const Verb *a, const Verb *b)
{
        bool more_a, more_b;
        gsize len = family_len(a, &more_a);

        return b && more_a && family_len(b, &more_b) == len && more_b && strncmp(a->name, b->name, len) == 0;
}

/* "  queue list, show, create" in as many lines as needed: all that the overview shows of a family. */
static const Verb *const *append_family(GString *out, const Verb *const *verbs)
{
        gsize len = strcspn((*verbs)->name, " ");
        g_autoptr(GString) seconds = g_string_new(NULL);
        const Verb *first = *verbs;

        for (; same_family(first, *verbs); verbs++)
                g_string_append_printf(seconds, "%s%s", seconds->len ? ", " : "", (*verbs)->name + len + 1);
        g_string_append_printf(out, "  %-14.*s  %s\n", (int)len, first->name, seconds->str);
        return verbs;
}

char *help_overview(const Verb *const *verbs, const VerbGroup *groups)
{
        g_autoptr(GString) out =
                g_string_new("Usage: paddle VERB [OPTIONS] [WORDS]\n\nRuns deep-learning jobs: packs a "
                             "directory, starts its processes, returns the model.\n");

        while (*verbs) {
                for (const VerbGroup *group = groups; group->heading; group++)
                        if (group->first == *verbs)
                                g_string_append_printf(out, "\n%s:\n", group->heading);
                if (same_family(*verbs, verbs[1])) {
                        verbs = append_family(out, verbs);
                        continue;
                }
                g_string_append_printf(out, "  %-14s  %s\n", (*verbs)->name, (*verbs)->summary);
                verbs++;
        }
        g_string_append(out, "\n`paddle VERB --help` tells more. A first job:  paddle submit --follow -- "
                             "python train.py\n");
        return g_string_free(g_steal_pointer(&out), FALSE);
}

char *help_family(const Verb *const *verbs, const char *word)
{
        g_autofree char *prefix = g_strconcat(word, " ", NULL);
        g_autoptr(GString) out = g_string_new(NULL);

        for (; *verbs; verbs++)
                if (g_str_has_prefix((*verbs)->name, prefix))
                        g_string_append_printf(out, "  paddle %-16s  %s\n", (*verbs)->name,
                                               (*verbs)->summary);
        return out->len ? g_string_free(g_steal_pointer(&out), FALSE) : NULL;
}

static void append_examples(GString *out, const char *examples, const char *format, const char *plain)
{
        g_auto(GStrv) lines = g_strsplit(examples, "\n", -1);

        for (char **line = lines; *line; line++) {
                char *remark = strchr(*line, '\t');

                if (remark)
                        *remark++ = '\0';
                if (**line && remark)
                        g_string_append_printf(out, format, *line, remark);
                else if (**line)
                        g_string_append_printf(out, plain, *line);
        }
}

static char *usage_args(const Verb *verb)
{
        return g_strdup_printf("[OPTIONS]%s%s", *verb->args ? " " : "", verb->args);
}

char *help_usage(const Verb *verb)
{
        g_autofree char *args = usage_args(verb);

        return g_strdup_printf("Usage: paddle %s %s", verb->name, args);
}

char *help_verb(const Verb *verb, int width)
{
        g_autofree char *usage = help_usage(verb);
        g_autofree char *about = verb->about ? text_wrap(verb->about, 0, MIN(width, 100)) : NULL;
        g_autofree char *options = options_help(verb->options, width);
        g_autoptr(GString) out = g_string_new(NULL);

        g_string_append_printf(out, "%s\n\n%s.\n", usage, verb->summary);
        if (about)
                g_string_append_printf(out, "\n%s", about);
        g_string_append_printf(out, "\nOptions:\n%s", options);
        if (verb->examples) {
                g_string_append(out, "\nExamples:\n");
                append_examples(out, verb->examples, "  %s\n        %s\n", "  %s\n");
        }
        return g_string_free(g_steal_pointer(&out), FALSE);
}

/* roff: escapes leading dots and quotes (requests), backslashes, and '-' (a typographic hyphen). */
static char *roff(const char *text)
{
        g_autoptr(GString) out = g_string_new(NULL);

        for (const char *c = text; *c; c++) {
                bool first = c == text || c[-1] == '\n';

                if (first && (*c == '.' || *c == '\''))
                        g_string_append(out, "\\&");
                if (*c == '\\')
                        g_string_append(out, "\\e");
                else if (*c == '-')
                        g_string_append(out, "\\-");
                else
                        g_string_append_c(out, *c);
        }
        return g_string_free(g_steal_pointer(&out), FALSE);
}

static void man_paragraphs(GString *out, const char *text)
{
        g_auto(GStrv) parts = g_strsplit(text, "\n\n", -1);

        for (char **part = parts; *part; part++) {
                g_autofree char *escaped = roff(*part);

                g_string_append_printf(out, ".PP\n%s\n", escaped);
        }
}

static void man_head(GString *out, const char *page, const char *summary)
{
        g_autofree char *title = g_ascii_strup(page, -1);
        g_autofree char *escaped = roff(summary);
        g_autofree char *name = roff(page);

        g_string_append_printf(out, ".TH \"%s\" 1 \"\" \"paddle " PADDLE_VERSION "\" \"User Commands\"\n",
                               title);
        g_string_append_printf(out, ".SH NAME\n%s \\- %s\n.SH SYNOPSIS\n", name, escaped);
}

static const char man_common[] =
        ".SH ENVIRONMENT\n"
        ".TP\n\\fBPADDLE_SERVER\\fR\nServer to talk to, when \\-\\-server is not given.\n"
        ".TP\n\\fBPADDLE_TOKEN\\fR\nSecret for a server on TCP, when \\-\\-token is not given.\n"
        ".TP\n\\fBPADDLE_CONFIG\\fR\nConfiguration file instead of $HOME/.paddle/config.\n"
        ".TP\n\\fBPADDLE_HOME\\fR\nDirectory of the embedded server instead of $HOME/.paddle.\n"
        ".TP\n\\fBNO_COLOR\\fR\nNo colours, when set to anything.\n"
        ".SH EXIT STATUS\n"
        ".TP\n0\nDone.\n.TP\n1\nThe job or the request failed.\n.TP\n2\nWrong usage.\n"
        ".TP\n3\nRefused: no permission, over a quota, name taken.\n.TP\n4\nThe server was not reached.\n";

char *help_man_verb(const Verb *verb)
{
        g_autofree char *name = g_strdelimit(g_strdup(verb->name), " ", '-');
        g_autofree char *page = g_strconcat("paddle-", name, NULL);
        g_autofree char *args = usage_args(verb);
        g_autofree char *escaped_args = roff(args);
        g_autofree char *options = options_man(verb->options);
        g_autoptr(GString) out = g_string_new(NULL);

        man_head(out, page, verb->summary);
        g_string_append_printf(out, ".B paddle %s\n%s\n.SH DESCRIPTION\n%s.\n", verb->name, escaped_args,
                               verb->summary);
        if (verb->about)
                man_paragraphs(out, verb->about);
        g_string_append_printf(out, ".SH OPTIONS\n%s", options);
        if (verb->examples) {
                g_autofree char *escaped = roff(verb->examples);

                g_string_append(out, ".SH EXAMPLES\n");
                append_examples(out, escaped, ".TP\n\\fB%s\\fR\n%s\n", ".PP\n\\fB%s\\fR\n");
        }
        g_string_append(out, man_common);
        g_string_append(out, ".SH SEE ALSO\n.BR paddle (1)\n");
        return g_string_free(g_steal_pointer(&out), FALSE);
}

char *help_man_overview(const Verb *const *verbs)
{
        g_autoptr(GString) out = g_string_new(NULL);

        man_head(out, "paddle", "run deep-learning jobs");
        g_string_append(out,
                        ".B paddle\n\\fIVERB\\fR [\\fIOPTIONS\\fR] [\\fIWORDS\\fR]\n.SH DESCRIPTION\n"
                        "Packs a directory, starts its processes on the platform, brings the model back.\n"
                        ".SH VERBS\n");
        for (; *verbs; verbs++) {
                g_autofree char *summary = roff((*verbs)->summary);

                g_string_append_printf(out, ".TP\n\\fB%s\\fR\n%s.\n", (*verbs)->name, summary);
        }
        g_string_append(out, man_common);
        return g_string_free(g_steal_pointer(&out), FALSE);
}
