/* Choosing a member (see member.h). */
#include "cli/member.h"

#include <string.h>

#include "base/err.h"
#include "cli/listing.h"

static bool is_up(const json_t *member)
{
        static const char *const up[] = { "running", "ready" };

        for (gsize i = 0; i < G_N_ELEMENTS(up); i++)
                if (strcmp(text_of(member, "state"), up[i]) == 0)
                        return true;
        return false;
}

bool member_choose(Cli *cli, const char *job, const char *shown, char **ret, GError **error)
{
        g_autofree char *path = job_path(job, "/members?brief=true");
        g_autoptr(json_t) reply = NULL;
        const json_t *member, *found = NULL;
        gsize i;

        if (!http_call_json(cli->client, "GET", path, NULL, &reply, error))
                return false;
        json_array_foreach(json_object_get(reply, "items"), i, member) {
                const char *role = text_of(member, "role");
                bool works = strcmp(role, "trainer") == 0 || strcmp(role, "worker") == 0;

                if (is_up(member) && (!found || (works && strcmp(text_of(found, "role"), "trainer") != 0 &&
                                                 strcmp(text_of(found, "role"), "worker") != 0)))
                        found = member;
        }
        if (!found)
                return err_set(error, ERR_CONFLICT, "no member of job '%s' runs\nSee `paddle status %s`.",
                               shown, shown);
        *ret = g_strdup(text_of(found, "name"));
        return true;
}

static bool check_runs(Cli *cli, const char *id, const char *job, const char *member, GError **error)
{
        g_autofree char *path = job_path(id, "/members?brief=true");
        g_autoptr(json_t) reply = NULL;
        const json_t *one;
        gsize i;

        if (!http_call_json(cli->client, "GET", path, NULL, &reply, error))
                return false;
        json_array_foreach(json_object_get(reply, "items"), i, one) {
                if (strcmp(text_of(one, "name"), member) == 0)
                        return is_up(one) || err_set(error, ERR_CONFLICT,
                                                     "member '%s' of job '%s' is %s\nSee `paddle status %s`.",
                                                     member, job, text_of(one, "state"), job);
        }
        return err_set(error, ERR_NOT_FOUND,
                       "job '%s' has no member '%s'\n`paddle status %s` shows its members.", job, member,
                       job);
}

bool member_resolve(Cli *cli, const char *job, char **ret_id, char **member, GError **error)
{
        g_autofree char *path = job_path(job, "");
        g_autoptr(json_t) found = NULL;

        if (!http_call_json(cli->client, "GET", path, NULL, &found, error) ||
            !(*member ? check_runs(cli, text_of(found, "id"), job, *member, error)
                      : member_choose(cli, text_of(found, "id"), job, member, error)))
                return false;
        *ret_id = g_strdup(text_of(found, "id"));
        return true;
}

void member_split(const char *word, char **ret_job, char **ret_member)
{
        const char *slash = strchr(word, '/');

        *ret_job = slash ? g_strndup(word, (gsize)(slash - word)) : g_strdup(word);
        *ret_member = slash ? g_strdup(slash + 1) : NULL;
}
