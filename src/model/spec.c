/* Specifications (see spec.h): memory, names, paths, and requested resources. spec-parse.c parses,
 * spec-format.c formats.
 *
 * A Spec is one memory block: the struct, its roles, the pointers of all lists, then all text. Queued jobs
 * keep theirs for a long time, so ten thousand of them must be small. Therefore no part can be freed or
 * replaced separately. */
#include "model/spec.h"

#include <string.h>

#include "base/err.h"
#include "model/framework.h"
#include "model/spec-block.h"

/* ---- one block ---- */

/* Two passes over the same calls: the first, without memory, counts; the second copies. */
typedef struct {
        char **pointers; /* NULL in the first pass */
        char *text;
        gsize n_pointers, n_text;
} Block;

static char *keep_text(Block *block, const char *text)
{
        gsize len = text ? strlen(text) + 1 : 0;
        gsize place = block->n_text;

        if (!text)
                return NULL;
        block->n_text += len;
        return block->pointers ? memcpy(block->text + place, text, len) : NULL;
}

static char **keep_list(Block *block, char *const *list)
{
        gsize len = list ? g_strv_length((char **)list) : 0;
        char **copy = block->pointers ? block->pointers + block->n_pointers : NULL;

        if (!list)
                return NULL;
        block->n_pointers += len + 1;
        for (gsize i = 0; i < len; i++) {
                char *text = keep_text(block, list[i]);

                if (copy)
                        copy[i] = text;
        }
        if (copy)
                copy[len] = NULL;
        return copy;
}

/* `to` may be scratch memory in the counting pass. Names of roles belong to the framework's row. */
static void keep_all(Block *block, const Spec *draft, const Role *roles, Spec *to, Role *to_roles)
{
        to->command = keep_list(block, draft->command);
        to->env = keep_list(block, draft->env);
        for (int i = 0; i < draft->n_roles; i++) {
                to_roles[i] = roles[i];
                to_roles[i].command = keep_list(block, roles[i].command);
                to_roles[i].env = keep_list(block, roles[i].env);
        }
        to->labels = keep_list(block, draft->labels);
        to->annotations = keep_list(block, draft->annotations);
        to->node_labels = keep_list(block, draft->node_labels);
        to->after = keep_list(block, draft->after);
        to->sweep = keep_list(block, draft->sweep);
        to->secrets = keep_list(block, draft->secrets);
        to->secret_files = keep_list(block, draft->secret_files);
        to->mounts = keep_list(block, draft->mounts);
        for (int i = 0; i < draft->n_roles; i++)
                to_roles[i].flavour = keep_text(block, roles[i].flavour);
        to->name = keep_text(block, draft->name);
        to->image = keep_text(block, draft->image);
        to->package = keep_text(block, draft->package);
        to->package_name = keep_text(block, draft->package_name);
        to->requirements = keep_text(block, draft->requirements);
        to->setup = keep_text(block, draft->setup);
        to->setup_files = keep_text(block, draft->setup_files);
        to->input = keep_text(block, draft->input);
        to->output = keep_text(block, draft->output);
        to->queue = keep_text(block, draft->queue);
        to->topology = keep_text(block, draft->topology);
        to->array = keep_text(block, draft->array);
        to->namespace = keep_text(block, draft->namespace);
        to->origin = keep_text(block, draft->origin);
}

Spec *spec_copy(const Spec *draft, const Role *roles, gsize *ret_texts)
{
        gsize head = sizeof(Spec) + (gsize)draft->n_roles * sizeof(Role);
        Block block = { 0 };
        Role scrap_roles[SPEC_ROLES_MAX];
        Spec scrap, *spec;

        keep_all(&block, draft, roles, &scrap, scrap_roles);
        *ret_texts = block.n_text;
        spec = g_malloc(head + block.n_pointers * sizeof(char *) + block.n_text);
        *spec = *draft;
        block = (Block){ .pointers = (char **)((char *)spec + head),
                         .text = (char *)spec + head + block.n_pointers * sizeof(char *) };
        keep_all(&block, draft, roles, spec, spec->roles);
        g_atomic_ref_count_init(&spec->refs);
        return spec;
}

Spec *spec_ref(Spec *spec)
{
        g_atomic_ref_count_inc(&spec->refs);
        return spec;
}

void spec_unref(Spec *spec)
{
        if (spec && g_atomic_ref_count_dec(&spec->refs))
                g_free(spec);
}

/* ---- requested resources ---- */

bool spec_has_environment(const Spec *spec)
{
        return spec->requirements || spec->setup;
}

int spec_members(const Spec *spec)
{
        int n = 0;

        for (int i = 0; i < spec->n_roles; i++)
                n += spec->roles[i].replicas;
        return n;
}

int spec_members_min(const Spec *spec)
{
        int n = 0;

        for (int i = 0; i < spec->n_roles; i++)
                n += spec->roles[i].min;
        return n;
}

bool spec_is_elastic(const Spec *spec)
{
        return spec_members_min(spec) < spec_members(spec);
}

bool spec_declares_cpu(const Spec *spec)
{
        for (int i = 0; i < spec->n_roles; i++)
                if (spec->roles[i].replicas > 0 && spec->roles[i].each.cpu_milli >= 0)
                        return true;
        return false;
}

gint64 spec_share(const Spec *spec, const Resources *total)
{
        int members = spec_members(spec);

        if (members == 0 || spec_declares_cpu(spec))
                return SPEC_SHARE_MAX;
        return CLAMP(total->cpu_milli / members, 1, SPEC_SHARE_MAX);
}

void spec_member_wants(const Spec *spec, int role, SpecShare share, Resources *ret)
{
        *ret = spec->roles[role].each;
        if (ret->cpu_milli < 0)
                ret->cpu_milli = share.cpu_milli < 0 ? SPEC_SHARE_MAX : share.cpu_milli;
        if (ret->memory == 0)
                ret->memory = share.memory;
}

static bool sum_wants(const Spec *spec, bool all, const Resources *total, Resources *ret)
{
        SpecShare share = { .cpu_milli = spec_share(spec, total) };
        Resources sum = { 0 };

        for (int i = 0; i < spec->n_roles; i++) {
                Resources each;

                spec_member_wants(spec, i, share, &each);
                if (!resources_add(&sum, &each, all ? spec->roles[i].replicas : spec->roles[i].min))
                        return false;
        }
        *ret = sum;
        return true;
}

bool spec_wants(const Spec *spec, const Resources *total, Resources *ret)
{
        return sum_wants(spec, true, total, ret);
}

bool spec_wants_min(const Spec *spec, const Resources *total, Resources *ret)
{
        return sum_wants(spec, false, total, ret);
}

/* ---- names and paths ---- */

bool name_is_valid(const char *name)
{
        size_t len = strlen(name);

        return len >= 1 && len <= SPEC_NAME_MAX &&
               len == strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") && name[0] != '-' &&
               name[len - 1] != '-';
}

bool name_check(const char *what, const char *name, GError **error)
{
        g_autofree char *shown = NULL;

        if (name_is_valid(name))
                return true;
        shown = err_shown(name);
        return err_set(error, ERR_INVALID,
                       "%s: '%.80s' is not a name of 1 to %d characters a-z, 0-9 and '-' that begins and "
                       "ends with a letter or "
                       "digit",
                       what, shown, SPEC_NAME_MAX);
}

static bool refuse_path(const char *path, const char *why, GError **error)
{
        g_autofree char *shown = err_shown(path);

        return err_set(error, ERR_INVALID, "path '%.200s' %s", shown, why);
}

static bool path_is_clean(const char *path, GError **error)
{
        if (!*path)
                return err_set(error, ERR_INVALID, "the path is empty");
        if (strlen(path) > SPEC_PATH_MAX)
                return err_set(error, ERR_INVALID, "the path '%.40s...' is longer than %d bytes", path,
                               SPEC_PATH_MAX);
        if (!g_utf8_validate(path, -1, NULL))
                return refuse_path(path, "is not UTF-8 text", error);
        for (const char *at = path; *at; at++)
                if (g_ascii_iscntrl(*at))
                        return refuse_path(path, "contains a control character", error);
        return true;
}

char *pfs_path_normal(const char *path, const char *dc, const char *user, GError **error)
{
        bool absolute = strcmp(path, "/pfs") == 0 || g_str_has_prefix(path, "/pfs/");
        g_autofree char *home = absolute ? NULL : g_strdup_printf("/pfs/%s/home/%s", dc, user);
        g_autoptr(GString) normal = g_string_new(home);
        g_auto(GStrv) parts = NULL;

        if (!path_is_clean(path, error))
                return NULL;
        parts = g_strsplit(path, "/", -1);
        for (char **part = parts; *part; part++) {
                if (strcmp(*part, "..") == 0) {
                        refuse_path(path, "contains '..'", error);
                        return NULL;
                }
                if (**part && strcmp(*part, ".") != 0)
                        g_string_append_printf(normal, "/%s", *part);
        }
        return g_string_free(g_steal_pointer(&normal), FALSE);
}
