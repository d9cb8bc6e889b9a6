/* The run of the three submitting verbs: what was built from the flags goes to the server, and is followed
 * when asked. */
#include "cli/submission.h"

#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/id.h"
#include "cli/follow-array.h"
#include "cli/listing.h"
#include "cli/pack.h"
#include "cli/reasons.h"

/* A server that was reached a moment ago is waited for; one that was never reached is reported at once. */
enum { RETRIES_FIRST = 1, RETRIES = 6 };

/* The directory of a job file's package_path is seen from the file. */
static char *place_package(const Submission *s, const json_t *file, char *package)
{
        g_autofree char *given = package;
        g_autofree char *dir = NULL;

        if (!package || s->package_path || !is_set(file, "package_path") || strcmp(s->file, "-") == 0 ||
            g_path_is_absolute(package))
                return g_steal_pointer(&given);
        dir = g_path_get_dirname(s->file);
        return g_build_filename(dir, package, NULL);
}

/* The directory of a job file; the one of --package-path has been looked at. */
static bool check_package(const Submission *s, const char *dir, GError **error)
{
        if (s->package_path || g_file_test(dir, G_FILE_TEST_IS_DIR))
                return true;
        return err_set(error, ERR_USAGE, "package_path: '%s' %s", dir,
                       g_file_test(dir, G_FILE_TEST_EXISTS) ? "is not a directory" : "does not exist");
}

/* A command that starts a file which is not there will fail; the person hears it before the wait. */
static void warn_of_program(const Cli *cli, const char *dir, const json_t *spec)
{
        g_autofree char *program = submission_program(json_object_get(spec, "command"));
        g_autofree char *path = program ? g_build_filename(dir, program, NULL) : NULL;

        if (path && !g_file_test(path, G_FILE_TEST_EXISTS))
                cli_warn(cli, "'%s' is not in the package '%s', so the job will fail", program, dir);
}

static bool post(Cli *cli, const json_t *spec, const char *key, int retries, json_t **ret, GError **error)
{
        g_autofree char *body = json_format(spec);
        g_autofree char *header = g_strconcat("Idempotency-Key: ", key, NULL);
        const char *headers[] = { header, NULL };
        g_auto(HttpReply) reply = { 0 };
        HttpCall call = { .method = "POST",
                          .path = "/v1/jobs",
                          .body = body,
                          .body_len = strlen(body),
                          .headers = headers,
                          .retries = retries };

        if (!http_call(cli_client(cli, NULL), &call, &reply, error))
                return false;
        if (reply.status / 100 != 2)
                return http_reply_error(&reply, error);
        *ret = json_parse(reply.body->str, reply.body->len, error);
        return *ret != NULL;
}

static void say_submitted(const Cli *cli, const json_t *job)
{
        const char *name = text_of(job, "name"), *id = text_of(job, "id");
        const json_t *array = json_object_get(job, "array");

        if (is_array(job))
                cli_say(cli, "submitted %s (%s): %d jobs, %s", name, id, (int)int_of(array, "size"),
                        text_of(array, "indices"));
        else
                cli_say(cli, "submitted %s (%s)", name, id);
}

static void print_submitted(const Cli *cli, const json_t *job, Format format, bool follow)
{
        const char *name = text_of(job, "name"), *id = text_of(job, "id");
        const json_t *note;
        size_t i;

        if (format == FORMAT_JSON || format == FORMAT_YAML || format == FORMAT_NAME)
                format_print(job, format, "name");
        else if (!follow)
                printf("%s %s\n", name, id);
        fflush(stdout);
        say_submitted(cli, job);
        json_array_foreach(json_object_get(job, "notes"), i, note)
                cli_say(cli, "note: %s", json_string_value(note));
        if (!follow && is_array(job))
                cli_say(cli, "`paddle status %s` counts its jobs, `paddle list --array %s` shows them", name,
                        name);
        else if (!follow)
                cli_say(cli, "`paddle logs -f %s` follows it", name);
}

/* Everything that is wrong with the request itself is found before the server is looked for. */
static bool prepare(Cli *cli, const Submission *s, SubmitForm form, char *const *words, json_t **ret_spec,
                    char **ret_package, GError **error)
{
        g_autoptr(json_t) file = s->file ? submission_read_file(s->file, error) : NULL;

        if (s->file && !file)
                return false;
        if (!submission_spec(s, form, words, file, ret_spec, ret_package, error))
                return false;
        *ret_package = place_package(s, file, *ret_package);
        if (!*ret_package)
                return true;
        if (!check_package(s, *ret_package, error))
                return false;
        warn_of_program(cli, *ret_package, *ret_spec);
        return pack_check(cli, *ret_package, s->allow_large, error);
}

/* Nothing is sent but the specification: where and when does not depend on the package. */
static bool dry_run(Cli *cli, const json_t *spec, Format format, GError **error)
{
        enum { EXIT_REFUSED = 3 };
        g_autoptr(json_t) reply = NULL;
        g_autofree char *text = NULL;

        if (!http_call_json(cli->client, "POST", "/v1/jobs?dry_run=true", spec, &reply, error))
                return false;
        if (strcmp(text_of(reply, "state"), "refused") == 0)
                cli->status = EXIT_REFUSED;
        if (format != FORMAT_TABLE && format != FORMAT_WIDE) {
                format_print(reply, format, "state");
                return true;
        }
        text = dry_run_text(reply, clock_now_ms(), &cli->terminal);
        fputs(text, stdout);
        return true;
}

static bool check_follow(const Submission *s, GError **error)
{
        return !s->follow || !s->dry_run ||
               err_set(error, ERR_USAGE, "--follow cannot be combined with --dry-run");
}

static bool send(Cli *cli, const Submission *s, const char *package, json_t *spec, json_t **ret_job,
                 GError **error)
{
        char key[ID_LEN + 1];

        id_new(key);
        return (!package || pack_send(cli, package, spec, error)) &&
               post(cli, spec, s->idempotency_key ? s->idempotency_key : key,
                    package ? RETRIES : RETRIES_FIRST, ret_job, error);
}

bool submission_start(Cli *cli, const Submission *s, char *const *words, const json_t *extra,
                      void (*finish)(json_t *spec), json_t **ret_job, GError **error)
{
        g_autoptr(json_t) spec = NULL;
        g_autofree char *package = NULL;
        Format format;

        if (!format_parse(s->format, &format, error) ||
            !prepare(cli, s, SUBMIT_WORDS, words, &spec, &package, error) || !cli_client(cli, error) ||
            !submission_put_cluster(cli, s, spec, error))
                return false;
        json_object_update(spec, (json_t *)extra);
        finish(spec);
        if (s->dry_run)
                return dry_run(cli, spec, format, error);
        if (!send(cli, s, package, spec, ret_job, error))
                return false;
        print_submitted(cli, *ret_job, format, !s->detach);
        return true;
}

bool submission_run(Cli *cli, const Submission *s, SubmitForm form, char *const *words, GError **error)
{
        g_autoptr(json_t) spec = NULL;
        g_autoptr(json_t) job = NULL;
        g_autofree char *package = NULL;
        Format format;

        if (!check_follow(s, error) || !format_parse(s->format, &format, error) ||
            !prepare(cli, s, form, words, &spec, &package, error) || !cli_client(cli, error) ||
            !submission_put_cluster(cli, s, spec, error))
                return false;
        if (s->dry_run)
                return dry_run(cli, spec, format, error);
        if (!send(cli, s, package, spec, &job, error))
                return false;
        print_submitted(cli, job, format, s->follow);
        if (!s->follow)
                return true;
        return is_array(job) ? follow_array_to_end(cli, job, error)
                             : follow_to_end(cli, text_of(job, "id"), text_of(job, "name"), error);
}
