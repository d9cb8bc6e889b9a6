/* Pictures that verbs print (see svg.h). */
#include "cli/svg.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"

/* True for a picture that paddle drew, which its first element says (src/pipeline/picture-svg.c), and for an empty file. */
static bool is_ours(const char *file)
{
        enum { HEAD = 4096 }; /* bytes */
        char head[HEAD + 1];
        FILE *stream = fopen(file, "re");
        gsize len;

        if (!stream)
                return true; /* it is not there; or writing it says why */
        len = fread(head, 1, HEAD, stream);
        head[len] = '\0';
        fclose(stream);
        return len == 0 || strstr(head, "class=\"paddle-picture\"");
}

bool svg_file(const char *svg, const char *word, const char **ret_file, GError **error)
{
        const char *file = svg && *svg ? svg : word;

        if (word && (!svg || *svg))
                return err_set(error, ERR_USAGE, "'%.80s' is one word too many\n%s", word,
                               svg ? "--svg has a file already." : "A file for a picture needs --svg.");
        *ret_file = file;
        if (!file)
                return true;
        if (!g_str_has_suffix(file, ".svg"))
                return err_set(error, ERR_USAGE,
                               "'%.80s' is not the name of a picture, and is not replaced\n"
                               "Give a name that ends in .svg, as the last word.",
                               file);
        return is_ours(file) ||
               err_set(error, ERR_USAGE,
                       "'%.80s' is there already, is not a picture that paddle drew, and is not replaced\n"
                       "Give another name, or move it away.",
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
