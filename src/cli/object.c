/* The verbs of objects (see object.h; routes in doc/guide/rest.md, "Many users"). */
#include "cli/object.h"

#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/word.h"
#include "cli/reasons.h"
#include "cli/password.h"

static const Act *act_of(const Cli *cli)
{
        return cli->verb->row;
}

static char *name_of(const Kind *kind, char *const *words)
{
        return kind->name ? kind->name(words) : g_strdup(words[0]);
}

/* "/v1/queues/vision?what_if=true". Without a name: the path of all. */
static char *path_of(const Kind *kind, const ObjectTarget *target, const char *name)
{
        g_autofree char *escaped = name ? url_escape(name) : NULL;
        g_autofree char *user = target->user ? url_escape(target->user) : NULL;

        return g_strconcat(kind->path, name ? "/" : "", name ? escaped : "",
                           target->what_if ? "?what_if=true" : "", user ? "?user=" : "", user, NULL);
}

static bool is_for_people(Format format)
{
        return format == FORMAT_TABLE || format == FORMAT_WIDE;
}

/* ---- list, show ---- */

bool object_list(Cli *cli, const void *options, char *const *words, GError **error)
{
        const ObjectTarget *target = options;
        const Kind *kind = act_of(cli)->kind;
        g_autofree char *path = path_of(kind, target, NULL);
        g_autoptr(Listing) listing = NULL;
        gint64 items = 0;
        Format format;

        if (!format_parse(cli, target->format, &format, error) || !cli_client(cli, error))
                return false;
        listing = listing_new(cli, format, kind->columns, "name");
        if (!listing_pages(listing, cli->client, path, target->limit, &items, error))
                return false;
        if (items == 0)
                cli_say(cli, "%s", kind->empty);
        return true;
}

static void print_member(const char *name, const json_t *value)
{
        g_autofree char *text = cell_text(value);
        g_autofree char *visible = text ? text_visible(text) : NULL;
        g_autofree char *label = g_strdelimit(g_strdup(name), "_", ' ');

        if (visible && *visible)
                printf("%-22s %s\n", label, visible);
}

void members_print(const json_t *object)
{
        const char *name;
        json_t *value;

        json_object_foreach((json_t *)object, name, value)
                print_member(name, value);
}

bool object_show(Cli *cli, const void *options, char *const *words, GError **error)
{
        const ObjectTarget *target = options;
        const Kind *kind = act_of(cli)->kind;
        g_autofree char *name = name_of(kind, words);
        g_autofree char *path = path_of(kind, target, name);
        g_autoptr(json_t) object = NULL;
        Format format;

        if (!format_parse(cli, target->format, &format, error) || !cli_client(cli, error) ||
            !http_call_json(cli->client, "GET", path, NULL, &object, error))
                return false;
        if (!is_for_people(format)) {
                format_print(object, format, "name");
        } else if (kind->show) {
                kind->show(cli, object);
        } else {
                members_print(object);
        }
        return true;
}

/* ---- create, set, delete ---- */

static void say_warnings(const Cli *cli, const json_t *reply)
{
        const json_t *warnings = json_object_get(reply, "warnings");
        gsize i;
        json_t *warning;

        json_array_foreach(warnings, i, warning) {
                g_autofree char *text = value_text(warning);
                g_autofree char *visible = text_visible(text ? text : "");

                cli_warn(cli, "%s", visible);
        }
}

/* Shows the object as data if that was requested, otherwise the outcome as text. */
static void say_outcome(const Cli *cli, json_t *reply, Format format, const char *name, const char *outcome)
{
        say_warnings(cli, reply);
        if (!is_for_people(format))
                format_print(reply, format, "name");
        cli_say(cli, "%s '%s' %s", act_of(cli)->kind->word, name, outcome);
}

static json_t *create_body(Cli *cli, const ObjectTarget *target, char *const *words, GError **error)
{
        const Kind *kind = act_of(cli)->kind;
        g_autoptr(json_t) body = json_object();
        g_autoptr(Password) secret = NULL;
        bool any;

        if (!kind->begin)
                json_object_set_new(body, "name", json_string(words[0]));
        else if (!kind->begin(body, words, error))
                return NULL;
        if (kind->fields && !fields_put(kind->fields, &target->fields, body, &any, error))
                return NULL;
        if (target->password || target->from_stdin) {
                secret = password_ask(cli, "password", target->from_stdin, true, error);
                if (!secret)
                        return NULL;
                json_object_set_new(body, "password", json_string(secret));
        }
        return g_steal_pointer(&body);
}

static bool check_words(char *const *words, GError **error)
{
        for (; *words; words++)
                if (!g_utf8_validate(*words, -1, NULL) || !**words)
                        return err_set(error, ERR_USAGE, **words ? "a name is not UTF-8" : "a name is empty");
        return true;
}

bool object_create(Cli *cli, const void *options, char *const *words, GError **error)
{
        const ObjectTarget *target = options;
        const Kind *kind = act_of(cli)->kind;
        g_autoptr(json_t) body = NULL, reply = NULL;
        g_autofree char *name = NULL, *path = path_of(kind, target, NULL);
        Format format;

        if (!format_parse(cli, target->format, &format, error) || !check_words(words, error))
                return false;
        body = create_body(cli, target, words, error);
        name = name_of(kind, words);
        if (!body || !cli_client(cli, error) ||
            !http_call_json(cli->client, "POST", path, body, &reply, error))
                return false;
        say_outcome(cli, reply, format, name, "is created");
        return true;
}

/* ---- what if ---- */

static char *fate_text(const json_t *fate)
{
        const char *state = text_of(fate, "state");
        bool timed = is_set(fate, "expected_start");
        g_autofree char *why = g_strdelimit(g_strdup(text_of(fate, "cause")), "_", ' ');
        g_autofree char *start =
                timed ? start_text(json_object_get(fate, "expected_start"), clock_now_ms()) : NULL;

        return g_strconcat(state, *why ? " (" : "", why, *why ? ")" : "", timed ? ", starts " : "", start,
                           NULL);
}

static char *cell_now(const json_t *change, const Terminal *terminal)
{
        return fate_text(json_object_get(change, "now"));
}

static char *cell_then(const json_t *change, const Terminal *terminal)
{
        return fate_text(json_object_get(change, "then"));
}

static const Column change_columns[] = {
        { "JOB", .member = "name", .fit = { .min = 16 } },
        { "ID", .member = "job", .fit = { 2, TABLE_WHOLE } },
        { "QUEUE", .member = "queue", .fit = { 1 } },
        { "NOW", .cell = cell_now },
        { "THEN", .cell = cell_then },
        { 0 },
};

static bool print_changes(const Cli *cli, const json_t *reply, Format format)
{
        const json_t *changes = json_object_get(reply, "changes");
        g_autoptr(Listing) listing = NULL;
        gsize i;
        json_t *change;

        say_warnings(cli, reply);
        if (format != FORMAT_JSON && format != FORMAT_YAML) {
                if (json_array_size(changes) > 0) {
                        listing = listing_new(cli, format, change_columns, "job");
                        json_array_foreach(changes, i, change)
                                listing_add(listing, change);
                        listing_end(listing);
                }
                g_autofree char *checked = count_format(int_of(reply, "checked"), "job");

                cli_say(cli, "%d of %s would be affected; nothing is changed", (int)json_array_size(changes),
                        checked);
        } else {
                format_print(reply, format, "job");
        }
        return true;
}

static bool change(Cli *cli, const ObjectTarget *target, const char *name, const json_t *body, Format format,
                   GError **error)
{
        g_autofree char *path = path_of(act_of(cli)->kind, target, name);
        g_autoptr(json_t) reply = NULL;

        if (!http_call_json(cli->client, "PATCH", path, body, &reply, error))
                return false;
        if (target->what_if)
                return print_changes(cli, reply, format);
        say_outcome(cli, reply, format, name, "is changed");
        return true;
}

bool object_set(Cli *cli, const void *options, char *const *words, GError **error)
{
        const ObjectTarget *target = options;
        const Kind *kind = act_of(cli)->kind;
        g_autoptr(json_t) body = json_object();
        g_autofree char *name = NULL;
        bool any = false;
        Format format;

        if (!format_parse(cli, target->format, &format, error) || !check_words(words, error) ||
            !fields_put(kind->fields, &target->fields, body, &any, error))
                return false;
        if (!any && !target->password && !target->from_stdin)
                return err_set(error, ERR_USAGE, "nothing to change\n`paddle %s --help` lists the options.",
                               cli->verb->name);
        name = name_of(kind, words);
        if (!cli_client(cli, error) || (any && !change(cli, target, name, body, format, error)))
                return false;
        return !kind->after_set || kind->after_set(cli, target, name, any, error);
}

bool object_switch(Cli *cli, const void *options, char *const *words, GError **error)
{
        const Act *act = act_of(cli);
        g_autoptr(json_t) body = json_object();

        json_object_set_new(body, act->member, json_boolean(act->value));
        if (!check_words(words, error) || !cli_client(cli, error))
                return false;
        for (; *words; words++) {
                g_autofree char *path = path_of(act->kind, options, *words);
                g_autoptr(json_t) reply = NULL;

                if (!http_call_json(cli->client, "PATCH", path, body, &reply, error))
                        return false;
                say_outcome(cli, reply, FORMAT_TABLE, *words, act->said);
        }
        return true;
}

static bool delete_one(Cli *cli, const ObjectTarget *target, const char *name, GError **error)
{
        g_autofree char *path = path_of(act_of(cli)->kind, target, name);

        if (!http_call_json(cli->client, "DELETE", path, NULL, NULL, error))
                return false;
        cli_say(cli, "%s '%s' is deleted", act_of(cli)->kind->word, name);
        return true;
}

bool object_delete(Cli *cli, const void *options, char *const *words, GError **error)
{
        const Kind *kind = act_of(cli)->kind;
        g_autofree char *name = name_of(kind, words);

        if (!check_words(words, error) || !cli_client(cli, error))
                return false;
        if (kind->name) /* the words form one name */
                return delete_one(cli, options, name, error);
        for (; *words; words++)
                if (!delete_one(cli, options, *words, error))
                        return false;
        return true;
}
