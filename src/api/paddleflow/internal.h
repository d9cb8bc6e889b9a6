/* Declarations that the files of this directory share. */
#pragma once

#include "base/thread-pool.h"
#include "api/paddleflow/codes.h"
#include "api/paddleflow/flow.h"
#include "api/paddleflow/go.h"
#include "api/paddleflow/templates.h"

#include "pipeline/definition.h"

#define PADDLEFLOW_BASE "/api/paddleflow/v1"

enum {
        PADDLEFLOW_BODY_MAX = 1024 * 1024,
        PADDLEFLOW_LOGIN_BODY_MAX = 16 * 1024, /* it comes from anybody */
        PADDLEFLOW_KEY_LEN = 32,
        PADDLEFLOW_KEYS_MAX = 1000, /* of a page */
        PADDLEFLOW_KEYS = 50,
};

typedef struct Feed Feed;
typedef struct Sampler Sampler;
typedef struct YamlWay YamlWay;

struct PaddleFlow {
        Engine *engine;
        Store *store;
        Runtime *runtime;
        Auth *auth;
        PackageStore *packages;
        char *node_name;
        char **node_labels; /* or NULL */
        guint8 key[PADDLEFLOW_KEY_LEN];
        ThreadPool *threads; /* for answers that read much */
        ThreadPool *askers;  /* for answers that clusters are asked for */
        YamlWay *way;        /* of yaml_read */
        Feed *feed;
        Sampler *sampler;
        Templates *templates;     /* or NULL */
        bool skip_resource_check; /* PaddleFlowConfig's */
        bool (*check_cluster)(const Cluster *cluster, GError **error);
};

extern const HttpRoute user_rows[], grant_rows[], queue_rows[], flavour_rows[], cluster_rows[], node_rows[],
        pool_rows[], fs_rows[], job_rows[], run_rows[], run_log_rows[], artifact_rows[], cache_rows[],
        pipeline_rows[], schedule_rows[], feed_rows[], log_rows[], statistics_rows[], about_rows[];
/* All of them as one table. Each may come with a body: of PADDLEFLOW_BODY_MAX bytes where its row does not say. */
const HttpRoute *paddleflow_routes(void);

/* The parameters of a page (page_take): their sentences, and a query with nothing else. */
#define PAGE_MARKER "Where the page before ended."
#define PAGE_KEYS "At most this many, 1 to 1000."
extern const HttpParameter page_query[];

/* ---- a call ---- */

/* One request while its handler runs. Strings and objects borrowed from it and from `catalog` last as long.
 */
typedef struct {
        PaddleFlow *flow;
        HttpRequest *request;
        const char *user;
        bool root; /* an administrator */
        Catalog *catalog;
        GPtrArray *texts; /* char *: what was made of its path */
        json_t *body;     /* of POST and PUT, as it was sent; NULL: none that can be read, why is in: */
        GError *unread;
} Call;

/* False if the request was answered: the caller may not act as another user. */
bool call_begin(Call *call, HttpRequest *request, void *arg);
void call_end(Call *call);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Call, call_end)

/* The body by its table, a new object; NULL with MalformedJSON. */
json_t *call_body(const Call *call, const GoField *fields, GError **error);
/* True for an administrator, else `code`. */
bool call_root(const Call *call, Code code, GError **error);
/* The value of a query parameter, "" when it is not there; a part of the path, without blanks around it. */
const char *call_query(const Call *call, const char *name);
const char *call_param(const Call *call, const char *name);
/* A whole number as strconv.Atoi reads it: "+5" is one. Else as number_parse. */
bool paddleflow_number_parse(const char *what, const char *text, gint64 min, gint64 max, gint64 *ret,
                             GError **error);
/* Integer query parameter, `fallback` when it is not there or empty. InvalidURI. */
bool call_query_int(const Call *call, const char *name, gint64 min, gint64 max, gint64 fallback, gint64 *ret,
                    GError **error);
/* Comma lists; NULL: not said. The caller's. */
char **call_query_list(const Call *call, const char *name);

/* Replies. An error is taken; `map` may be NULL. */
void paddleflow_reply(HttpRequest *request, json_t *value /* taken */);
void paddleflow_reply_empty(HttpRequest *request);
void paddleflow_fail(HttpRequest *request, GError *error, const CodeMap *map);
#define call_reply(call, value) paddleflow_reply((call)->request, value)
#define call_fail(call, error) paddleflow_fail((call)->request, error, NULL)

/* Runs the handler on a thread of the thread pool: for what reads much. */
void paddleflow_defer(HttpRequest *request, PaddleFlow *flow, HttpHandler handler);
/* The same for what waits for clusters. */
void paddleflow_defer_ask(HttpRequest *request, PaddleFlow *flow, HttpHandler handler);

/* ---- questions to clusters ---- */

/* The cluster's answer; waits for it: on the thread pool of askers only. NULL with why not. `ask` is borrowed, but
 * for `answer` and `arg`, which it sets. */
json_t *paddleflow_ask(PaddleFlow *flow, const char *cluster, const RuntimeAsk *ask, GError **error);
/* The nodes of a cluster: an object, name -> node as in census.h (also for this machine); `pods`: with the
 * pods on them. NULL with the reason if they cannot be read. Waits, as paddleflow_ask. */
json_t *cluster_node_list(PaddleFlow *flow, const Cluster *cluster, bool pods, GError **error);

/* ---- pages ---- */

typedef struct {
        gint64 max;
        gint64 after; /* of what is listed; 0: from the beginning */
} Page;
/* maxKeys and marker of a list that is called `list`. */
bool page_take(const Call *call, const char *list, Page *ret, GError **error);
/* The same for a list whose places are texts. *ret_after: NULL: from the beginning; the caller's. */
bool page_take_text(const Call *call, const char *list, gint64 *ret_max, char **ret_after, GError **error);
/* {"maxKeys", "isTruncated", "nextMarker"?, name: items}; `next` 0: it was the last. Takes items. */
json_t *page_format(const Call *call, const char *list, const Page *page, gint64 next, const char *name,
                    json_t *items);
/* The same; `next` NULL: it was the last. The list is called `list`, and so is its member. */
json_t *page_format_text(const Call *call, const char *list, gint64 max, const char *next, json_t *items);
/* True for NULL, which stands for all, and if `text` is in the list. */
bool page_has(char *const *list, const char *text);
/* A list whose rows the store gives in pages of its own, of which a filter takes some. */
typedef struct {
        /* The rows behind `after`; *ret_next: behind which the following ones are, 0: there are none. */
        GPtrArray *(*read)(const Call *call, void *filter, gint64 after, gint64 *ret_next, GError **error);
        bool (*wanted)(const void *filter, const void *row);
        json_t *(*show)(const Call *call, const void *row);
        gsize seq; /* offset of the row's seq, a gint64 */
} PageRows;
/* The rows of a page, a new array; *ret_next: behind which the next page begins, 0: it was the last. */
json_t *page_collect(const Call *call, const PageRows *rows, void *filter, const Page *page, gint64 *ret_next,
                     GError **error);
/* A page of objects of the catalog for which `keep` is true (NULL: all). */
typedef bool (*PageKeep)(const Call *call, const Object *object, void *arg);
typedef json_t *(*PageShow)(PaddleFlow *flow, const Catalog *catalog, const Object *object);
void page_reply(const Call *call, ObjectKind kind, const char *name, PageKeep keep, void *arg, PageShow show);

/* ---- changes of the catalog ---- */

typedef struct Edit Edit;
/* Makes the draft what it is to be, from what was decoded. Called again when the object was changed
 * meanwhile. Pure; on the engine's thread, too. */
typedef bool (*EditApply)(const PaddleFlow *flow, const Catalog *catalog, Object *draft, const json_t *body,
                          GError **error);
typedef struct {
        ObjectKind kind;
        EditApply apply; /* NULL: nothing to change */
        PageShow show;   /* of the reply; NULL: an empty one */
        const CodeMap *map;
        Code gone;  /* it is not there any more */
        int status; /* of the reply; 0: 200 */
} EditRow;
/* Changes the object `name`, or drops it, and answers. Takes body. */
void edit_change(const Call *call, const EditRow *row, const char *name, json_t *body);
void edit_drop(const Call *call, const EditRow *row, const char *name);
/* Puts a new object and answers {member: name}, or with its id. Takes draft. */
void edit_put(const Call *call, const EditRow *row, Object *draft, const char *member);

/* How the objects of a kind are made, changed and dropped by requests. A check says whether the caller may,
 * and whether what they say is right, in the order of doc/reference/paddleflow-api.md. */
typedef struct {
        const char *member, *param; /* the name: in the body of a new one, in the path */
        const GoField *body;
        bool trims; /* blanks around texts of the body are cut off, but for its name */
        bool (*check_new)(const Call *call, const json_t *body, GError **error);
        bool (*fill)(const Call *call, Object *draft, const json_t *body, GError **error); /* a new one */
        bool (*check_change)(const Call *call, const char *name, const json_t *body, GError **error);
        bool (*check_drop)(const Call *call, const char *name, GError **error);
        EditRow made, changed, dropped;
        const char *answer; /* edit_put's member for a new one */
} EditKind;
/* Whole requests; `arg` is the handler's. */
void edit_create(HttpRequest *request, void *arg, const EditKind *kind);
void edit_update(HttpRequest *request, void *arg, const EditKind *kind);
void edit_delete(HttpRequest *request, void *arg, const EditKind *kind);

/* ---- words ---- */

char *time_text(gint64 ms);                       /* "2024-01-02 03:04:05", local; "" for 0 */
char *time_rfc3339(gint64 ms);                    /* with a fraction and the zone */
bool time_take(const char *text, gint64 *ret_ms); /* the first form */

json_t *text_or_null(const char *text);
json_t *text_or_blank(const char *text);
void set_text(char **field, const char *text); /* "" and NULL become NULL */
/* The members of an object as "K=V" sorted by key; NULL: none. The caller's. */
char **map_to_labels(const json_t *map);

/* {"cpu", "mem", "scalarResources"} on top of `ret`; with `merge` "" leaves cpu and memory as they are and
 * takes a scalar away, else it is 0. Names become known when an administrator says them. */
bool amounts_take(const char *what, const json_t *object, bool merge, ResourceLimits *limits, GError **error);
/* {"cpu", "memory", "storage"?, "scalarResources"?}: of the kinds in the bit set, and cpu and memory always.
 */
json_t *amounts_format(const Resources *amounts, guint32 kinds);
guint32 amounts_kinds(const Resources *amounts); /* those above 0 */

/* The current usage of a queue; zeros if unknown. */
Resources queue_used(PaddleFlow *flow, const char *queue);
bool paddleflow_has_user(PaddleFlow *flow, const char *user);
/* Can the caller see it, and submit to it? */
bool queue_is_granted(const Call *call, const Queue *queue);

/* ---- secrets ---- */

bool key_open(PaddleFlow *flow, const char *state_dir, GError **error);
/* A marker for position `at` of a list, and back; false: it is none of this list. */
char *marker_format(const PaddleFlow *flow, const char *list, gint64 at);
bool marker_parse(const PaddleFlow *flow, const char *list, const char *marker, gint64 *ret);
/* The same for a place that is a text; the caller's. NULL: it is none of this list. */
char *marker_format_text(const PaddleFlow *flow, const char *list, const char *at);
char *marker_parse_text(const PaddleFlow *flow, const char *list, const char *marker);
/* The token of a log-in: a token of auth.h with its user and expiry, signed. */
char *login_format(const PaddleFlow *flow, const AuthLogin *login);
bool login_check(PaddleFlow *flow, const char *token, char **ret_user, HttpRight *ret_right, GError **error);
/* The credential of a token that login_check accepts (HttpServerConfig.credential). The caller frees it; or
 * NULL. */
char *login_credential(const PaddleFlow *flow, const char *token);
/* Given by a log-in with a password of late? */
enum { LOGIN_FRESH_MS = 15 * 60 * 1000 };
bool login_is_fresh(PaddleFlow *flow, const char *token);
/* A UUIDv4 made of 16 bytes that are random enough. */
char *uuid_format(const guint8 bytes[16]);
void paddleflow_hash(const PaddleFlow *flow, const char *purpose, const void *data, gsize len, guint8 *ret,
                     gsize ret_len);

/* ---- jobs ---- */

/* The words of jobs (job-words.c). */
const char *job_word(const Job *job);
/* The states that a word can stand for; 0: none. Among their jobs job_word tells. */
guint32 job_word_states(const char *word);

/* The id that a job has here; the caller's. And the engine's for it: a name of ID_LEN. */
char *job_flow_id(const Job *job);
/* That of a step: "job-run-000001-train-12-<the engine's id>". `run`: seq; `name`: of the job; the caller's. */
char *job_step_id(gint64 run, const char *name, const char *job);
void job_engine_id(const char *id, char ret[ID_LEN + 1]);
char *job_new_id(void);
/* Live or stored; NULL: there is none of this id. The caller's reference. */
Job *paddleflow_find_job(PaddleFlow *flow, const char *id);
/* The one that is named, if the caller may see it: JobNotFound, ActionNotAllowed. */
Job *call_job(const Call *call, const char *id, Code denied, GError **error);

/* The request body, stored with the specification; NULL if the job came by another interface. A new
 * reference. */
json_t *job_asked(const Job *job);
/* The object of doc/reference/paddleflow-api.md, "A job as it is shown"; `detail`: with what runs. */
json_t *job_show(PaddleFlow *flow, const Catalog *catalog, const Job *job, bool detail);
/* Role and index of a member as this face counts them. */
void job_member_name(const json_t *asked, const Job *job, int member, const char **ret_role, int *ret_index);
/* The name that a member's process has in lists and logs; the caller's. */
char *job_task_name(const Job *job, int member);

typedef enum { ROUTE_SINGLE, ROUTE_DISTRIBUTED, ROUTE_WORKFLOW } JobRoute;
typedef struct {
        Spec *spec;
        char *id;      /* here */
        char *refusal; /* no cluster can run it, and why; else NULL */
} Asked;
void asked_clear(Asked *asked);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Asked, asked_clear)
/* From the decoded body, all checked (doc/reference/paddleflow-api.md, "Fields of a job"); errors carry the
 * inner code. */
bool job_request_read(const Call *call, JobRoute route, const json_t *body, Asked *ret, GError **error);

/* Reads a log for a reply: {"logContent", "hasNextPage", "truncated"}. `path` NULL: there is none. */
typedef json_t *(*LogRead)(const char *path, const void *arg);
/* {"taskID", "logInfo"} of each process of a job, as many as one reply may have. Opens files: on a thread of the pool. */
json_t *job_tasks_logs(PaddleFlow *flow, const Job *job, LogRead read, const void *arg);

/* ---- runs and pipelines ---- */

/* Replies with the state of a run here: "running", "terminating", "succeeded", "failed", "terminated", "skipped". */
const char *run_word(const RunRecord *run);
/* The id of the schedule that created it, or ""; the caller's. */
char *run_schedule(const RunRecord *run);
/* A page of the runs of a schedule, by the query's runFilter, statusFilter, marker and maxKeys; NULL with an error. */
json_t *run_page_of(const Call *call, gint64 schedule, GError **error);
/* The run of the id, if the caller may see it: RunNotFound, AccessDenied. The caller's. */
RunRecord *call_run(const Call *call, const char *id, GError **error);
/* The stored pipeline of the id: PipelineNotFound, AccessDenied. The caller's. */
PipelineRecord *call_pipeline(const Call *call, const char *id, GError **error);
/* Its version; "" is the newest: PipelineNotFound. The caller's. */
PipelineVersion *call_version(const Call *call, const PipelineRecord *pipeline, const char *number, bool text,
                              GError **error);
/* The text in base64, UTF-8; NULL with `wrong`. The caller's. */
char *yaml_take(const char *base64, Code wrong, GError **error);
/* Whose file system a request means, and that it is there: UserNotExist, `missing`. */
bool yaml_check_fs(const Call *call, const char *user, const char *fs, Code missing, GError **error);

/* The path of a definition of which the request says `path`: "" is the usual one. */
const char *yaml_path(const char *path);
/* Reads the definition at a path of a user's file system, with the rights of the user's Unix user, and goes on with `then`
 * on a thread of the thread pool. If it cannot be read, it answers ReadYamlFileFailed. */
typedef void (*YamlThen)(HttpRequest *request, PaddleFlow *flow, const char *text);
void yaml_read(const Call *call, const char *user, const char *fs, const char *path, YamlThen then);
/* The way back of what is read, which the engine may do until it is freed. Closed: the request is answered with an error. */
YamlWay *yaml_way_new(ThreadPool *threads);
void yaml_way_close(YamlWay *way);
void yaml_way_unref(YamlWay *way); /* NULL is a no-op */
/* The definition as the run has it; the run was read with its text. NULL with an error. The caller's. */
Definition *run_compile(const RunRecord *run, GError **error);
/* The whole run: answers, as a stream if it is large. On a thread of the thread pool. */
void run_show(const Call *call, const RunRecord *run);
/* run-refusal.c: fails the request with an error of the engine about a run, in the words of this interface. Any thread. */
void run_refuse(PaddleFlow *flow, HttpRequest *request, const GError *error);

/* ---- what works on threads of its own ---- */

Feed *feed_new(PaddleFlow *flow);
void feed_stop(Feed *feed);
void feed_free(Feed *feed);

/* Samples of what members used. */
typedef struct {
        gint64 at; /* s */
        gint64 cpu_us, memory;
} Sample;
Sampler *sampler_new(PaddleFlow *flow);
void sampler_stop(Sampler *sampler);
void sampler_free(Sampler *sampler);
/* Samples of a member's process in order of time; NULL: none. The caller's GArray of Sample. */
GArray *sampler_find(Sampler *sampler, const char *task);

/* ---- the description ---- */

typedef struct {
        const char *name; /* as routes say it; NULL ends the list */
        const GoField *fields;
        bool partial; /* of a change: nothing of it is needed */
} Shape;
extern const Shape shapes[];
extern const GoField login_body[], user_body[], password_body[], grant_body[], queue_body[], flavour_body[],
        cluster_body[], cluster_filter_body[], object_body[], pool_body[], single_body[], distributed_body[],
        workflow_body[], modify_body[], card_time_body[], fs_body[], fs_cache_body[], link_body[],
        run_create_body[], run_stop_body[], run_delete_body[], pipeline_body[], schedule_body[];
const char *paddleflow_description(gsize *ret_len);
