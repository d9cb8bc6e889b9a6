/* Packages in pods without an image of their own: the tar and its bound, the ConfigMaps, and what a pod is
 * told. */
#include "runtime/kubernetes/image/package.h"

#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "kube/kind.h"
#include "runtime/kubernetes/image/packing.h"
#include "runtime/test/attempt.h"

static const MemberHome home = { "jobs", "s3rv3r" };
static TestAttempt test;

static char *state_with(gsize size)
{
        char *state = g_dir_make_tmp("package-XXXXXX", NULL);
        g_autofree char *tree = g_build_filename(state, "packages/abc", NULL);
        g_autofree char *path = g_build_filename(tree, "data", NULL), *data = g_malloc0(size);

        g_assert_cmpint(g_mkdir_with_parents(tree, 0755), ==, 0);
        g_assert_true(g_file_set_contents(path, data, (gssize)size, NULL));
        return state;
}

static void test_pack(void)
{
        g_autofree char *state = state_with(1000);
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) map = NULL;
        const char *text;
        g_autofree guchar *data = NULL;
        gsize len;

        g_assert_false(package_is_packed(state, "abc"));
        g_assert_null(package_map(state, &home, &test.attempt, &error));
        g_assert_true(err_is(error, ERR_NOT_FOUND));
        g_clear_error(&error);
        for (int i = 0; i < 2; i++) { /* two may do it at once */
                g_assert_true(package_pack(state, "abc", &error));
                g_assert_no_error(error);
        }
        g_assert_true(package_is_packed(state, "abc"));
        map = package_map(state, &home, &test.attempt, &error);
        g_assert_cmpstr(kube_name(map), ==, "j-0123456789abcdef-2-package");
        g_assert_cmpstr(kube_label(map, "paddle-job-id"), ==, test.job.id);
        text = json_string_value(json_object_get(kube_get(map, "binaryData"), "package.tar"));
        data = g_base64_decode(text, &len);
        g_assert_cmpuint(len % 512, ==, 0);
        g_assert_cmpstr((const char *)data, ==, "work/");
        g_assert_true(file_remove_tree(state, NULL));
}

/* Nothing is left of what is too large. */
static void test_too_large(void)
{
        g_autofree char *state = state_with(PACKAGE_TAR_MAX);
        g_autofree char *dir = g_build_filename(state, "envs/package-abc", NULL);
        g_autoptr(GError) error = NULL;
        GDir *list;

        g_assert_false(package_pack(state, "abc", &error));
        g_assert_true(err_is(error, ERR_TOO_LARGE));
        g_assert_nonnull(strstr(error->message, "and 700 KiB are the most"));
        g_assert_false(package_is_packed(state, "abc"));
        list = g_dir_open(dir, 0, NULL);
        g_assert_null(g_dir_read_name(list));
        g_dir_close(list);
        g_assert_true(file_remove_tree(state, NULL));
}

/* ---- many jobs ---- */

/* A thread hands over to the loop by GLib's own locks, which ThreadSanitizer does not see. */
#ifdef __SANITIZE_THREAD__
enum { LOCKS_ARE_SEEN = false };
#else
enum { LOCKS_ARE_SEEN = true };
#endif

enum { JOBS = 1000 };

typedef struct {
        int packed, failed;
} Told;

static void on_told(const char *job_id, const char *problem, void *arg)
{
        Told *told = arg;

        g_assert_true(*job_id == 'j');
        if (problem)
                told->failed++;
        else
                told->packed++;
}

/* All jobs of an array have one package: it is packed once, and nobody is left out; nor is who cannot have
 * one. */
static void test_many(void)
{
        g_autofree char *state = state_with(1000);
        g_autoptr(GMainContext) context = g_main_context_new();
        Told told = { 0 };
        g_autoptr(Packings) packings = packings_new(
                &(PackingConfig){ .context = context, .state_dir = state, .done = on_told, .arg = &told });

        for (int i = 0; i < JOBS; i++) {
                packings_want(packings, "abc", "j1");
                packings_want(packings, i % 2 ? "none" : "nor", "j2");
        }
        while (told.packed + told.failed < 2 * JOBS)
                g_main_context_iteration(context, TRUE);
        g_assert_cmpint(told.packed, ==, JOBS);
        g_assert_true(package_is_packed(state, "abc"));
        packings_want(packings, "abc", "j3"); /* what was packed may be packed again */
        while (told.packed == JOBS)
                g_main_context_iteration(context, TRUE);
        g_assert_true(file_remove_tree(state, NULL));
}

static guint threads(void)
{
        GDir *dir = g_dir_open("/proc/self/task", 0, NULL);
        guint n = 0;

        while (g_dir_read_name(dir))
                n++;
        g_dir_close(dir);
        return n;
}

/* Nobody is told by what has ended. */
static void test_end(void)
{
        guint before = threads();
        g_autofree char *state = state_with(1000);
        g_autoptr(GMainContext) context = g_main_context_new();
        Told told = { 0 };
        Packings *packings = packings_new(
                &(PackingConfig){ .context = context, .state_dir = state, .done = on_told, .arg = &told });
        static const char *const hashes[] = { "abc", "d", "e", "f" };

        for (gsize i = 0; i < G_N_ELEMENTS(hashes); i++)
                packings_want(packings, hashes[i], "j1");
        packings_free(packings);
        while (threads() > before)
                g_thread_yield();
        while (g_main_context_iteration(context, FALSE)) /* each thread that was at work has left a source */
                ;
        g_assert_cmpint(told.packed + told.failed, ==, 0);
        g_assert_true(file_remove_tree(state, NULL));
}

/* ---- in pods ---- */

static void test_put(void)
{
        static const char before[] =
                "{\"containers\": [{\"name\": \"main\", \"image\": \"i\", \"resources\": {\"limits\": "
                "{\"cpu\": \"1\"}}}], \"initContainers\": [{\"name\": \"gate\"}], \"volumes\": "
                "[{\"name\": \"paddle-gate\"}]}";
        g_autoptr(json_t) spec = json_parse(before, strlen(before), NULL);
        g_autoptr(json_t) gate = package_gate(&home);
        const json_t *unpacks, *container;

        package_put(spec, &test.attempt);
        unpacks = kube_get(spec, "initContainers[1]");
        container = kube_get(spec, "containers[0]");
        g_assert_cmpstr(kube_get_text(unpacks, "image"), ==, "i");
        g_assert_cmpstr(kube_get_text(unpacks, "resources.limits.cpu"), ==, "1");
        g_assert_cmpstr(kube_get_text(unpacks, "command[0]"), ==, "/.paddle/bin/paddle-gate");
        g_assert_cmpstr(kube_get_text(unpacks, "command[3]"), ==, "/paddle");
        g_assert_cmpstr(kube_get_text(unpacks, "command[4]"), ==, "dig$$its");
        g_assert_cmpstr(kube_get_text(container, "workingDir"), ==, "/paddle/work");
        g_assert_cmpstr(kube_get_text(container, "volumeMounts[0].mountPath"), ==, "/paddle");
        g_assert_cmpuint(json_array_size(json_object_get(spec, "volumes")), ==, 3); /* the gate's was there */
        g_assert_cmpstr(kube_get_text(spec, "volumes[1].configMap.name"), ==, "j-0123456789abcdef-2-package");
        g_assert_true(g_str_has_prefix(kube_name(gate), "paddle-gate-"));
}

static void test_require(void)
{
        static const char before[] = "{\"containers\": [{\"name\": \"main\", \"image\": \"i\"}]}";
        g_autoptr(json_t) spec = json_parse(before, strlen(before), NULL);
        const json_t *looks;

        package_require(spec, "paddlepaddle==2.6.2 # $(X)\n");
        looks = kube_get(spec, "initContainers[0]");
        g_assert_cmpstr(kube_get_text(looks, "name"), ==, MEMBER_REQUIREMENTS_CONTAINER);
        g_assert_cmpstr(kube_get_text(looks, "image"), ==, "i");
        g_assert_cmpstr(kube_get_text(looks, "command[0]"), ==, "python3");
        g_assert_cmpstr(kube_get_text(looks, "command[3]"), ==, "paddlepaddle==2.6.2 # $$(X)\n");
}

int main(int argc, char **argv)
{
        test_attempt_init(&test, "0123456789abcdef", 2);
        test.spec.package = (char *)"abc";
        test.spec.package_name = (char *)"dig$its";
        g_test_init(&argc, &argv, NULL);
        json_init();
        g_test_add_func("/package/pack", test_pack);
        g_test_add_func("/package/too-large", test_too_large);
        if (LOCKS_ARE_SEEN) {
                g_test_add_func("/package/many", test_many);
                g_test_add_func("/package/end", test_end);
        }
        g_test_add_func("/package/put", test_put);
        g_test_add_func("/package/require", test_require);
        return g_test_run();
}
