/* Pictures that verbs print (see svg.h). */
#include "cli/svg.h"

#include "base/err.h"
#include "base/file.h"

bool svg_check(bool svg, const char *file, GError **error)
{
        return svg || !file ||
               err_set(error, ERR_USAGE, "'%.80s' is one word too many\nA file for a picture needs --svg.",
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
