/* Rules of relative paths and links (see path.h). */
#include "storage/path.h"

#include <string.h>

#include "base/err.h"
#include "storage/disk.h"

enum { NAME_BYTES_MAX = 255 };

static const char *part_fault(const char *part, gsize len)
{
        if (len == 0)
                return "a path has no empty parts and no slash at its ends";
        if (part[0] == '.' && (len == 1 || (len == 2 && part[1] == '.')))
                return "'.' and '..' are not allowed";
        return len > NAME_BYTES_MAX ? "a name has at most 255 bytes" : NULL;
}

static const char *text_fault(const char *text)
{
        gsize len = strlen(text);

        if (!g_utf8_validate(text, (gssize)len, NULL))
                return "names are UTF-8";
        for (gsize i = 0; i < len; i++)
                if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
                        return "names hold no control bytes";
        return len >= STORAGE_PATH_MAX ? "a path has fewer than 4096 bytes" : NULL;
}

static const char *path_fault(const char *path)
{
        const char *fault = text_fault(path);

        if (path[0] == '/')
                return "a path is relative";
        for (const char *at = path; !fault;) {
                gsize len = strcspn(at, "/");

                fault = part_fault(at, len);
                at += len;
                if (!*at)
                        break;
                at++;
        }
        return fault;
}

static bool name_fault(GError **error, const char *name, const char *fault)
{
        g_autofree char *shown = text_show(name);

        return err_set(error, ERR_INVALID, "'%s': %s", shown, fault);
}

bool path_check(const char *path, GError **error)
{
        const char *fault = path_fault(path);

        return fault ? name_fault(error, path, fault) : true;
}

bool path_part_check(const char *part, GError **error)
{
        if (strchr(part, '/'))
                return name_fault(error, part, "a name holds no slash");
        return path_check(part, error);
}

static guint path_depth(const char *path)
{
        guint depth = 0;

        for (; *path; path++)
                depth += *path == '/';
        return depth;
}

static const char *target_fault(const char *path, const char *target)
{
        const char *fault = text_fault(target);
        guint ups = 0;
        bool names = false;

        if (!*target)
                return "its target is empty";
        if (fault)
                return fault;
        if (*target == '/')
                return "it points to an absolute path";
        for (const char *at = target; *at; at += strspn(at, "/")) {
                gsize len = strcspn(at, "/");
                bool up = len == 2 && at[0] == '.' && at[1] == '.';

                if (up && names)
                        return "'..' stands only at the front of a link's target";
                ups += up;
                names |= !up && !(len == 1 && *at == '.');
                at += len;
        }
        return ups > path_depth(path) ? "it points out of the package" : NULL;
}

bool link_check(const char *path, const char *target, GError **error)
{
        const char *fault = target_fault(path, target);
        g_autofree char *shown = NULL, *shown_target = NULL;

        if (!fault)
                return true;
        shown = text_show(path);
        shown_target = text_show(target);
        return err_set(error, ERR_INVALID, "link '%s' to '%s': %s", shown, shown_target, fault);
}
