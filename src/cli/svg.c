/* Pictures that verbs print (see svg.h). */
#include "cli/svg.h"

#include "base/err.h"
#include "base/file.h"

bool svg_file(const char *svg, const char *word, const char **ret_file, GError **error)
{
        const char *file = svg && *svg ? svg : word;

        if (word && (!svg || *svg))
                return err_set(error, ERR_USAGE, "'%.80s' is one word too many\n%s", word,
                               svg ? "--svg has a file already." : "A file for a picture needs --svg.");
        *ret_file = file;
        return !file || g_str_has_suffix(file, ".svg") ||
               err_set(error, ERR_USAGE,
                       "'%.80s' is not the name of a picture, and is not replaced\n"
                       "Give a name that ends in .svg, as the last word.",
                       file);
}

bool svg_put(const Cli *cli, const char *svg, gsize len, const char *file, GError **error)
{
        if (!file) {
                fwrite(svg, 1, len, stdout);
                return true;
        }
        if (!file_replace(file, svg, len, 0644, false, error))
                return false;
        cli_say(cli, "the picture is in '%s'; a browser shows it", file);
        return true;
}
