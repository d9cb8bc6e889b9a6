/* paddle doctor: checks everything that a job needs, one line each, with advice for what is missing. It
 * changes nothing and starts nothing. */
#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/number.h"
#include "base/text-cut.h"
#include "cli/config.h"
#include "cli/discover.h"
#include "cli/doctor.h"
#include "cli/embedded.h"
#include "cli/listing.h"
#include "cli/verbs.h"

typedef struct {
        Common common;
        char *format;
} Doctor;

typedef struct {
        Discovery *found; /* NULL: the configuration is invalid */
        bool embedded, up;
        HttpReply ready; /* of /readyz, if the server is up */
} Patient;

/* ---- configuration, server, agent ---- */

static Finding check_config(Patient *patient)
{
        g_autofree char *path = client_config_path();
        g_autoptr(GError) error = NULL;
        g_autoptr(ClientConfig) config = client_config_read(path, &error);

        if (!config)
                return finding(BAD, "correct the file, or move it away", "%s", error->message);
        if (access(path, F_OK) < 0)
                return finding(GOOD, NULL, "there is no '%s'; an embedded server needs none", path);
        return finding(GOOD, NULL, "'%s' names %s", path, config->server ? config->server : "no server");
}

static Finding check_server(Patient *patient)
{
        g_autoptr(HttpClient) client = NULL;
        g_autoptr(GError) error = NULL;
        HttpCall call = { .method = "GET", .path = "/readyz", .timeout_ms = 5000 };

        if (!patient->found)
                return finding(BAD, "see the line above", "no server is known");
        if (patient->embedded && embedded_pid() == 0)
                return finding(DOUBT, "`paddle up` starts it; so does any command that needs it",
                               "the embedded server is not up (%s)", patient->found->url);
        client = discovery_client(patient->found, patient->found->token, &error);
        if (!client || !http_call(client, &call, &patient->ready, &error)) {
                g_autofree char *text = err_text(error);

                return finding(BAD, "is the server running, and is the address right?", "%s (from %s): %s",
                               patient->found->url, patient->found->source, text);
        }
        patient->up = true;
        if (patient->ready.status != 200)
                return finding(DOUBT, "wait a moment; its log tells more", "%s answers, but is not ready: %s",
                               patient->found->url, g_strchomp(patient->ready.body->str));
        return finding(GOOD, NULL, "%s (from %s) is ready", patient->found->url, patient->found->source);
}

static Finding check_login(Patient *patient)
{
        g_autoptr(HttpClient) client = NULL;
        g_autoptr(json_t) who = NULL;
        g_autoptr(GError) error = NULL;

        if (!patient->up)
                return finding(DOUBT, "bring the server up first", "not checked: no server is running");
        client = discovery_client(patient->found, patient->found->token, &error);
        if (!client || !http_call_json(client, "GET", "/v1/whoami", NULL, &who, &error)) {
                g_autofree char *text = err_text(error);

                return finding(
                        BAD,
                        "make a token on the server's machine (`paddle token create`) and set PADDLE_TOKEN",
                        "%s", text);
        }
        return finding(GOOD, NULL, "the server knows you as '%s'%s", text_of(who, "user"),
                       json_is_true(json_object_get(who, "admin")) ? ", an administrator" : "");
}

static Finding check_agent(Patient *patient)
{
        static const char *const programs[] = { "paddled", "paddle-agent", "paddle-spawner" };

        if (!patient->embedded)
                return finding(GOOD, NULL, "not checked: the server runs elsewhere");
        for (gsize i = 0; i < G_N_ELEMENTS(programs); i++) {
                g_autofree char *path = program_find(programs[i]);

                if (!path)
                        return finding(BAD,
                                       "install the whole package: its programs must be in one directory",
                                       "'%s' is neither beside this program nor in PATH", programs[i]);
        }
        return finding(GOOD, NULL, "paddled, paddle-agent and paddle-spawner are there");
}

/* ---- the machine ---- */

static bool is_writable_dir(const char *path)
{
        return g_file_test(path, G_FILE_TEST_IS_DIR) && access(path, W_OK) == 0;
}

/* The available controllers of either version. */
static Finding check_cgroups(Patient *patient)
{
        static const char *const names[] = { "cpu", "memory", "pids" };
        g_autofree char *unified = NULL;
        g_autoptr(GString) have = g_string_new(NULL), lack = g_string_new(NULL);

        (void)file_read("/sys/fs/cgroup/cgroup.controllers", 4096, &unified, NULL,
                        NULL); /* absent with version 1 */
        for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
                g_autofree char *v1 = g_build_filename("/sys/fs/cgroup", names[i], NULL);
                bool there = is_writable_dir(v1) ||
                             (unified && strstr(unified, names[i]) && is_writable_dir("/sys/fs/cgroup"));
                GString *list = there ? have : lack;

                g_string_append_printf(list, "%s%s", list->len ? ", " : "", names[i]);
        }
        if (lack->len == 0)
                return finding(GOOD, NULL, "%s can be limited", have->str);
        return finding(
                DOUBT,
                "run the server as root, or delegate a cgroup to its user; without it only rlimits hold",
                "%s cannot be limited by cgroups%s%s", lack->str, have->len ? "; can: " : "", have->str);
}

static char *first_line_of(const char *program, const char *argument)
{
        const char *argv[] = { program, argument, NULL };
        g_autofree char *out = NULL;
        int status = 0;

        if (!g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL, NULL,
                          NULL, &out, NULL, &status, NULL) ||
            status != 0 || !out)
                return NULL;
        return text_first_line(out);
}

static Finding check_python(Patient *patient)
{
        g_autofree char *version = first_line_of("python3", "--version");

        if (!version)
                return finding(BAD, "install it: apt install python3 python3-venv",
                               "there is no python3 in PATH");
        return finding(GOOD, NULL, "%s", version);
}

static Finding check_uv(Patient *patient)
{
        g_autofree char *version = first_line_of("uv", "--version");
        g_autofree char *pip = version ? NULL : first_line_of("pip3", "--version");

        if (version)
                return finding(GOOD, NULL, "%s", version);
        if (pip)
                return finding(DOUBT, "pip install uv (environments are built many times faster)",
                               "no uv; pip will be used");
        return finding(BAD, "install uv or python3-pip: a package with requirements.txt needs one",
                       "neither uv nor pip3 is in PATH");
}

/* The nearest existing directory: the home may not exist yet. */
static char *existing_dir(void)
{
        char *path = embedded_home();

        while (access(path, F_OK) < 0 && strcmp(path, "/") != 0) {
                char *parent = g_path_get_dirname(path);

                g_free(path);
                path = parent;
        }
        return path;
}

static Finding check_disk(Patient *patient)
{
        enum { DOUBT_GIB = 5, BAD_GIB = 1 };
        g_autofree char *path = existing_dir();
        g_autofree char *text = NULL;
        struct statvfs info;
        guint64 bytes;

        if (statvfs(path, &info) < 0)
                return finding(BAD, "is the disk mounted?", "'%s': %s", path, g_strerror(errno));
        bytes = (guint64)info.f_bavail * info.f_frsize;
        text = bytes_format(bytes);
        if (access(path, W_OK) < 0)
                return finding(BAD, "set PADDLE_HOME to a directory of yours", "'%s' is not writable", path);
        return finding(bytes >> 30 >= DOUBT_GIB ? GOOD
                       : bytes >> 30 >= BAD_GIB ? DOUBT
                                                : BAD,
                       "free some space, or set PADDLE_HOME to another disk: packages and environments need "
                       "some GiB",
                       "%s free at '%s'", text, path);
}

static int bind_loopback(int port)
{
        fd_auto int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        struct sockaddr_in address = { .sin_family = AF_INET,
                                       .sin_port = htons((guint16)port),
                                       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        int one = 1;

        if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) < 0)
                return errno;
        return bind(fd, (struct sockaddr *)&address, sizeof address) < 0 ? errno : 0;
}

static Finding check_ports(Patient *patient)
{
        enum { DEFAULT_PORT = 8999 };
        int any = bind_loopback(0), usual = bind_loopback(DEFAULT_PORT);

        if (any != 0)
                return finding(BAD, "is the loopback device up?", "no port can be bound on 127.0.0.1: %s",
                               g_strerror(any));
        if (usual == EADDRINUSE)
                return finding(GOOD, NULL,
                               "ports can be bound; %d, the usual one of a server on TCP, is taken",
                               DEFAULT_PORT);
        return finding(GOOD, NULL, "ports can be bound; %d is free", DEFAULT_PORT);
}

/* Does what a job's member does, in a child, so that nothing of this process changes. */
static bool can_mount(void)
{
        pid_t pid = fork();
        int status = 0;

        if (pid == 0)
                _exit(unshare(CLONE_NEWNS) == 0 ? 0 : 1);
        return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static Finding check_pfs(Patient *patient)
{
        if (can_mount())
                return finding(GOOD, NULL, "jobs can see their storage under /pfs");
        return finding(DOUBT, "run the server as root for /pfs names; the variables work always",
                       "mount namespaces are not available: jobs find their storage with PADDLE_INPUT and "
                       "PADDLE_OUTPUT");
}

/* Compares with the server's clock, the Date of its reply. */
static Finding check_clock(Patient *patient)
{
        const char *date =
                patient->ready.headers ? g_hash_table_lookup(patient->ready.headers, "date") : NULL;
        g_autofree char *now = clock_format(clock_now_ms());
        struct tm parts = { 0 };
        gint64 off;

        if (clock_now_ms() < G_GINT64_CONSTANT(1735689600000)) /* 2025-01-01: older than this program */
                return finding(BAD, "set the clock: timedatectl set-ntp true",
                               "this machine's clock says %s, which is wrong", now);
        if (!date || !strptime(date, "%a, %d %b %Y %H:%M:%S GMT", &parts))
                return finding(GOOD, NULL, "%s", now);
        off = ABS(timegm(&parts) - clock_now_ms() / 1000);
        if (off > 5)
                return finding(DOUBT, "set both clocks by NTP",
                               "the server's clock is %d s away from this one", (int)off);
        return finding(GOOD, NULL, "%s, as on the server", now);
}

/* PaddlePaddle's gloo looks up this name, and crashes if it has no address. */
static Finding check_name(Patient *patient)
{
        struct addrinfo *found = NULL;
        char name[HOST_NAME_MAX + 1] = "";
        int failed;

        if (gethostname(name, sizeof name - 1) < 0)
                return finding(BAD, "set a name: hostnamectl set-hostname NAME",
                               "this machine has no name: %s", g_strerror(errno));
        failed = getaddrinfo(name, NULL, NULL, &found);
        if (failed)
                return finding(BAD, "add a line '127.0.1.1 NAME' with this machine's name to /etc/hosts",
                               "the name '%s' of this machine has no address (%s): collective and "
                               "parameter-server jobs of "
                               "PaddlePaddle crash",
                               name, gai_strerror(failed));
        freeaddrinfo(found);
        return finding(GOOD, NULL, "the name '%s' of this machine has an address", name);
}

static Finding check_kernel(Patient *patient)
{
        return doctor_kernel("/");
}

static Finding check_memory(Patient *patient)
{
        return doctor_memory("/");
}

static Finding check_gpus(Patient *patient)
{
        return doctor_gpus("/");
}

/* ---- the checks ---- */

static const struct {
        const char *name;
        Finding (*check)(Patient *patient);
} checks[] = {
        { "config", check_config },  { "server", check_server },   { "login", check_login },
        { "programs", check_agent }, { "kernel", check_kernel },   { "memory", check_memory },
        { "gpus", check_gpus },      { "cgroups", check_cgroups }, { "python", check_python },
        { "uv", check_uv },          { "disk", check_disk },       { "ports", check_ports },
        { "/pfs", check_pfs },       { "clock", check_clock },     { "name", check_name },
};

static const struct {
        const char *word, *colour;
} levels[] = {
        [GOOD] = { "ok", "\033[32m" }, [DOUBT] = { "warn", "\033[33m" }, [BAD] = { "fail", "\033[31m" }
};

static void print_finding(const Cli *cli, const char *name, const Finding *found)
{
        bool colour = cli->terminal.out_colour;

        printf("%s%-4s%s  %-8s  %s\n", colour ? levels[found->level].colour : "", levels[found->level].word,
               colour ? "\033[0m" : "", name, found->text);
        if (found->todo)
                printf("                %s\n", found->todo);
}

static const Column columns[] = { { "CHECK", .member = "check" }, { 0 } };

/* Shows each result immediately. */
static void report(const Cli *cli, Listing *listing, const char *name, const Finding *found)
{
        if (listing) {
                g_autofree char *text = text_visible(found->text);
                g_autoptr(json_t) item =
                        json_pack("{s:s, s:s, s:s, s:s?}", "check", name, "level", levels[found->level].word,
                                  "found", text, "todo", found->todo);

                listing_add(listing, item);
        } else {
                print_finding(cli, name, found);
        }
}

/* The number of failed checks. `listing` NULL: as text. */
static int look_at_all(const Cli *cli, Listing *listing)
{
        Patient patient = { 0 };
        int bad = 0;

        patient.found = discover(cli->common->server, cli->common->token, DISCOVER_ONLY,
                                 NULL); /* check_config reports the error */
        patient.embedded = patient.found && strcmp(patient.found->source, "embedded") == 0;
        for (gsize i = 0; i < G_N_ELEMENTS(checks); i++) {
                Finding found = checks[i].check(&patient);

                report(cli, listing, checks[i].name, &found);
                bad += found.level == BAD;
                g_free(found.text);
                g_free(found.todo);
        }
        http_reply_clear(&patient.ready);
        discovery_free(patient.found);
        return bad;
}

static bool run(Cli *cli, const void *target, char *const *words, GError **error)
{
        const Doctor *doctor = target;
        g_autoptr(Listing) listing = NULL;
        Format format;

        if (!format_parse(cli, doctor->format, &format, error))
                return false;
        if (format != FORMAT_TABLE && format != FORMAT_WIDE)
                listing = listing_new(cli, format, columns, "check");
        cli->status = look_at_all(cli, listing) > 0 ? 1 : 0;
        if (listing)
                listing_end(listing);
        return true;
}

static const Option options[] = {
        FORMAT_OPTION(offsetof(Doctor, format)),
        COMMON_OPTIONS,
        { 0 },
};

const Verb verb_doctor = {
        .name = "doctor",
        .args = "",
        .summary = "Check everything that jobs need, and say what to fix",
        .options = options,
        .about = "Exits with 1 if a check fails. -o json shows for each check its level (ok, warn, fail), "
                 "the result, and the advice.",
        .size = sizeof(Doctor),
        .run = run,
};
