/* Runs the three submitting verbs: sends the job that was built from the flags, and follows it if
 * requested. */
#include "cli/submission.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/id.h"
#include "base/word.h"
#include "cli/follow-array.h"
#include "cli/listing.h"
#include "cli/needs.h"
#include "cli/send-package.h"
#include "cli/program.h"
#include "cli/question.h"
#include "cli/reasons.h"
#include "cli/submission-plan.h"
#include "package/requirements.h"

/* A server that was reachable a moment ago is retried longer; otherwise the error is reported at once. */
enum { RETRIES_FIRST = 1, RETRIES = 6 };
enum { EXIT_REFUSED = 3 };

/* The data to send. */
typedef struct {
        json_t *spec;
        char *package;   /* a directory, or NULL ... */
        Measure measure; /* ... and its contents */
        char *needs;     /* the required Python packages, or NULL */
} Parcel;

static void parcel_clear(Parcel *parcel)
{
        json_decref(parcel->spec);
        g_free(parcel->package);
        measure_clear(&parcel->measure);
        g_free(parcel->needs);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Parcel, parcel_clear)

/* package_path in a job file is relative to the file. */
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

/* Checks the directory of a job file; --package-path was checked before. */
static bool check_package(const Submission *s, const char *dir, GError **error)
{
        if (s->package_path || g_file_test(dir, G_FILE_TEST_IS_DIR))
                return true;
        return err_set(error, ERR_USAGE, "package_path: '%s' %s", dir,
                       g_file_test(dir, G_FILE_TEST_EXISTS) ? "is not a directory" : "does not exist");
}

/* A command whose program is not in the package would fail: refuses it before anything is sent; with --force
 * only warns. */
static bool check_program(const Cli *cli, const Submission *s, const Parcel *parcel, const json_t *command,
                          GError **error)
{
        g_autoptr(GError) fault = NULL;
        g_autofree char *text = NULL;

        if (!command || parcel->measure.cut ||
            program_check(command, parcel->measure.paths, parcel->package, &fault))
                return true;
        if (!s->force) {
                g_propagate_error(error, g_steal_pointer(&fault));
                return false;
        }
        text = err_text(fault);
        cli_warn(cli, "%s", text);
        return true;
}

/* With a setup only the setup is checked: it may create the program. */
static bool check_programs(const Cli *cli, const Submission *s, const Parcel *parcel, GError **error)
{
        const json_t *setup = json_object_get(parcel->spec, "setup"), *role;
        gsize i;

        if (setup)
                return check_program(cli, s, parcel, setup, error);
        json_array_foreach(json_object_get(parcel->spec, "roles"), i, role) {
                if (!check_program(cli, s, parcel, json_object_get(role, "command"), error))
                        return false;
        }
        return check_program(cli, s, parcel, json_object_get(parcel->spec, "command"), error);
}

/* Whatever its code, a job that the server does not accept counts as refused: the exit status is that of a
 * dry run. */
static bool refused(const HttpReply *reply, GError **error)
{
        g_autoptr(GError) cause = NULL;

        http_reply_error(reply, &cause);
        if (reply->status / 100 == 4 && err_row(cause)->exit != EXIT_REFUSED)
                return err_set(error, ERR_DENIED, "%s", cause->message);
        g_propagate_error(error, g_steal_pointer(&cause));
        return false;
}

typedef struct {
        const char *path, *key; /* `key` may be NULL */
        int retries;
} Post;

/* *ret gets the reply's object; `ret` may be NULL. */
static bool post(Cli *cli, const Post *about, const json_t *spec, json_t **ret, GError **error)
{
        g_autofree char *body = json_format(spec);
        g_autofree char *header = about->key ? g_strconcat("Idempotency-Key: ", about->key, NULL) : NULL;
        const char *headers[] = { header, NULL };
        g_auto(HttpReply) reply = { 0 };
        HttpCall call = { .method = "POST",
                          .path = about->path,
                          .body = body,
                          .body_len = strlen(body),
                          .headers = headers,
                          .retries = about->retries };

        if (!http_call(cli->client, &call, &reply, error))
                return false;
        if (reply.status / 100 != 2)
                return refused(&reply, error);
        if (ret)
                *ret = json_parse(reply.body->str, reply.body->len, error);
        return !ret || *ret;
}

static void say_submitted(const Cli *cli, const json_t *job)
{
        const char *name = text_of(job, "name"), *id = text_of(job, "id");
        const json_t *array = json_object_get(job, "array");
        g_autofree char *size = count_format(int_of(array, "size"), "job");

        if (is_array(job))
                cli_say(cli, "submitted %s (%s): %s, %s", name, id, size, text_of(array, "indices"));
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
        else if (!follow && json_is_true(json_object_get(json_object_get(job, "spec"), "tty")))
                cli_say(cli, "`paddle attach %s` connects with it", name);
        else if (!follow)
                cli_say(cli, "`paddle logs -f %s` follows it", name);
}

/* The user did not name the directory's job file: shows what is used from it. */
static void say_taken(const Cli *cli, const Submission *s, char *const *words, const json_t *file,
                      const json_t *spec)
{
        g_autofree char *taken = NULL;

        if (!s->own_file || (!words[0] && !s->entry_point))
                return;
        taken = submission_taken(s->file, file, spec);
        cli_say(cli, "%s", taken);
}

/* Packages in the job file override the directory's files. */
static bool read_needs(const Cli *cli, const Submission *s, Parcel *parcel, GError **error)
{
        const char *unread = needs_file(&parcel->measure);

        if (!is_set(parcel->spec, "requirements"))
                return needs_read(cli, parcel->package, &parcel->measure, &parcel->needs, error);
        if (!requirements_check("requirements", text_of(parcel->spec, "requirements"), error))
                return err_prefix(error, "%s: ", s->file);
        if (unread)
                cli_say(cli, "note: %s is not read, because '%s' lists the packages", unread, s->file);
        return true;
}

/* Finds all errors of the request itself before it contacts the server. */
static bool prepare(Cli *cli, const Submission *s, SubmitForm form, char *const *words, Parcel *ret,
                    GError **error)
{
        g_autoptr(json_t) file = s->file ? submission_read_file(s->file, error) : NULL;

        if (s->file && !file)
                return false;
        if (!submission_spec(s, form, words, file, &ret->spec, &ret->package, error))
                return false;
        say_taken(cli, s, words, file, ret->spec);
        ret->package = place_package(s, file, ret->package);
        if (!ret->package)
                return true;
        return check_package(s, ret->package, error) &&
               pack_check(cli, ret->package, s->allow_large, &ret->measure, error) &&
               check_programs(cli, s, ret, error) && read_needs(cli, s, ret, error);
}

/* Sends only the specification and the required packages: the placement does not depend on files. */
static json_t *ask_server(Cli *cli, const Parcel *parcel, GError **error)
{
        g_autoptr(json_t) spec = json_deep_copy(parcel->spec);
        json_t *reply = NULL;

        if (parcel->needs)
                json_object_set_new(spec, "requirements", json_string(parcel->needs));
        return post(cli, &(Post){ "/v1/jobs?dry_run=true", NULL, RETRIES_FIRST }, spec, &reply, error) ? reply
                                                                                                       : NULL;
}

static bool is_table(Format format)
{
        return format == FORMAT_TABLE || format == FORMAT_WIDE;
}

/* --dry-run and --plan. */
static bool dry_run(Cli *cli, const Submission *s, const Parcel *parcel, Format format, GError **error)
{
        g_autoptr(json_t) reply = ask_server(cli, parcel, error);
        g_autofree char *text = NULL, *plan = NULL;

        if (!reply)
                return false;
        if (strcmp(text_of(reply, "state"), "refused") == 0)
                cli->status = EXIT_REFUSED;
        if (!is_table(format)) {
                format_print(reply, format, "state");
                return true;
        }
        plan = s->plan ? plan_text(&(Plan){ parcel->spec, parcel->package, &parcel->measure, parcel->needs,
                                            reply })
                       : plan_array_text(parcel->spec, reply);
        text = dry_run_text(reply, clock_now_ms(), &cli->terminal);
        printf("%s%s%s", plan, *plan ? "\n" : "", text);
        return true;
}

/* Asks after a plan that the server would accept. Without a terminal it does not ask, and nothing is
 * submitted. */
static bool is_wanted(Cli *cli)
{
        if (cli->status != 0 || !question_is_possible(cli))
                return false;
        if (question_agreed("\nSubmit? [Y/n] ", true))
                return true;
        cli_say(cli, "nothing was submitted");
        cli->status = 1;
        return false;
}

static bool check_follow(const Submission *s, GError **error)
{
        return !s->follow || !s->dry_run ||
               err_set(error, ERR_USAGE, "--follow cannot be combined with --dry-run");
}

static void warn_and_free(const Cli *cli, char *note)
{
        if (note)
                cli_warn(cli, "%s", note);
        g_free(note);
}

/* With "--" the user has separated the options from the command. */
static void warn(const Cli *cli, const Submission *s, char *const *words)
{
        if (!cli->said_end)
                warn_and_free(cli, submission_words_note(words));
        warn_and_free(cli, submission_path_note("--input", s->input));
        warn_and_free(cli, submission_path_note("--output", s->output));
}

/* Shows which files a setup depends on: it is surprising if it is not repeated after a change. */
static void say_setup(const Cli *cli, const Parcel *parcel)
{
        g_autofree char *note =
                plan_setup_note(&(Plan){ parcel->spec, parcel->package, &parcel->measure, NULL, NULL });

        if (note)
                cli_say(cli, "%s", note);
}

/* Asks the server before sending the package, so that a refused job needs no upload. */
static bool send(Cli *cli, const Submission *s, Parcel *parcel, json_t **ret_job, GError **error)
{
        char made[ID_LEN + 1];
        const char *key = s->idempotency_key ? s->idempotency_key : made;

        id_new(made);
        if (parcel->package &&
            !(post(cli, &(Post){ "/v1/jobs?check=true", key, RETRIES_FIRST }, parcel->spec, NULL, error) &&
              pack_send(cli, parcel->package, &parcel->measure, parcel->spec, error)))
                return false;
        return post(cli, &(Post){ "/v1/jobs", key, parcel->package ? RETRIES : RETRIES_FIRST }, parcel->spec,
                    ret_job, error);
}

/* Submits or shows what was prepared; *ret_job is NULL if it was only shown. */
static bool deliver(Cli *cli, const Submission *s, Parcel *parcel, Format format, json_t **ret_job,
                    GError **error)
{
        if (s->dry_run || s->plan) {
                if (!dry_run(cli, s, parcel, format, error))
                        return false;
                if (s->dry_run || !is_table(format) || !is_wanted(cli))
                        return true;
        }
        say_setup(cli, parcel);
        return send(cli, s, parcel, ret_job, error);
}

bool submission_start(Cli *cli, const Submission *s, char *const *words, const json_t *extra,
                      void (*finish)(json_t *spec), json_t **ret_job, GError **error)
{
        g_auto(Parcel) parcel = { 0 };
        Format format;

        if (!format_parse(cli, s->format, &format, error) ||
            !prepare(cli, s, SUBMIT_WORDS, words, &parcel, error) || !cli_client(cli, error) ||
            !submission_put_cluster(cli, s, parcel.spec, error))
                return false;
        json_object_update(parcel.spec, (json_t *)extra);
        finish(parcel.spec);
        if (!deliver(cli, s, &parcel, format, ret_job, error))
                return false;
        if (*ret_job)
                print_submitted(cli, *ret_job, format, !s->detach);
        return true;
}

static bool run(Cli *cli, const Submission *s, SubmitForm form, char *const *words, GError **error)
{
        g_auto(Parcel) parcel = { 0 };
        g_autoptr(json_t) job = NULL;
        Format format;

        if (!check_follow(s, error) || !format_parse(cli, s->format, &format, error))
                return false;
        warn(cli, s, words);
        if (!prepare(cli, s, form, words, &parcel, error) || !cli_client(cli, error) ||
            !submission_put_cluster(cli, s, parcel.spec, error) ||
            !deliver(cli, s, &parcel, format, &job, error))
                return false;
        if (!job)
                return true;
        print_submitted(cli, job, format, s->follow);
        if (!s->follow)
                return true;
        return is_array(job) ? follow_array_to_end(cli, job, error)
                             : follow_to_end(cli, text_of(job, "id"), text_of(job, "name"), error);
}

bool submission_run(Cli *cli, const Submission *submission, SubmitForm form, char *const *words,
                    GError **error)
{
        bool looks = form == SUBMIT_WORDS && !submission->file && !submission->no_file;
        g_autofree char *file = looks ? submission_own_file(submission) : NULL;
        Submission s = *submission; /* borrows all texts */

        if (submission->file && submission->no_file)
                return err_set(error, ERR_USAGE, "--file cannot be combined with --no-file");
        if (file && !submission_trusts_file(file)) {
                cli_say(cli, "note: '%s' is not used, because another user wrote it; `-f %s` uses it", file,
                        file);
        } else if (file) {
                s.file = file;
                s.own_file = true;
        }
        return run(cli, &s, form, words, error);
}
