/* Advice about errors of programs (see advice.h). A new error is a row of `errors`. */
#include "runtime/advice.h"

#include <string.h>

enum { NAME_MAX_SHOWN = 64 /* characters of a name that is taken from a line */ };

/* Packages whose name is not that of their module. */
static const struct {
        const char *module, *package;
} packages[] = {
        { "PIL", "pillow" },
        { "attr", "attrs" },
        { "bs4", "beautifulsoup4" },
        { "cv2", "opencv-python-headless" },
        { "dateutil", "python-dateutil" },
        { "paddle", "paddlepaddle" },
        { "skimage", "scikit-image" },
        { "sklearn", "scikit-learn" },
        { "yaml", "pyyaml" },
};

static const char *package_of(const char *module)
{
        for (gsize i = 0; i < G_N_ELEMENTS(packages); i++)
                if (strcmp(packages[i].module, module) == 0)
                        return packages[i].package;
        return module;
}

static char *advise_module(const char *module)
{
        return g_strdup_printf(
                "unless '%s' is a module of your own, add %s to requirements.txt, or use an image that has it",
                module, package_of(module));
}

/* An error begins with `begins`; the name follows, and is all that the advice takes of the line. */
static const struct {
        const char *begins;
        char *(*advise)(const char *name);
} errors[] = {
        { "ModuleNotFoundError: No module named '", advise_module },
};

/* Behind the "[rank0]: " that launchers write before each line. */
static const char *without_rank(const char *line)
{
        const char *end = *line == '[' ? strstr(line, "]: ") : NULL;

        return end ? end + strlen("]: ") : line;
}

/* The first part of a dotted name. NULL: it has other characters, or is too long. */
static char *name_at(const char *text)
{
        gsize len = 0;

        while (g_ascii_isalnum(text[len]) || text[len] == '_')
                len++;
        return len > 0 && len <= NAME_MAX_SHOWN && (text[len] == '\'' || text[len] == '.')
                       ? g_strndup(text, len)
                       : NULL;
}

char *advice_of(const char *line)
{
        const char *error = without_rank(line);

        for (gsize i = 0; i < G_N_ELEMENTS(errors); i++) {
                g_autofree char *name = g_str_has_prefix(error, errors[i].begins)
                                                ? name_at(error + strlen(errors[i].begins))
                                                : NULL;

                if (name)
                        return errors[i].advise(name);
        }
        return NULL;
}

bool advice_is_error(const char *line)
{
        const char *word = without_rank(line);
        gsize len = strcspn(word, ": ");
        g_autofree char *class = g_strndup(word, len);

        return (word[len] == ':' || word[len] == '\0') &&
               (g_str_has_suffix(class, "Error") || g_str_has_suffix(class, "Exception"));
}
