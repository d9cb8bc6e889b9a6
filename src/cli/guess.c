/* Job files guessed from programs (see guess.h). Imports are found line by line, at the start of a statement
 * as for Python; the rest of a line is ignored. */
#include "cli/guess.h"

#include <string.h>

#include "base/json.h"
#include "base/keyed-hash.h"
#include "model/framework.h"

struct Guess {
        GHashTable *modules; /* modules of the directory */
        GHashTable *imports; /* "paddle.distributed.fleet", "numpy" */
        GHashTable *words;   /* words that tell roles apart */
        GPtrArray *programs; /* char *: files in the root, in order of name */
        GHashTable *mains;   /* those that mention __main__ */
        char *needs;
};

Guess *guess_new(void)
{
        Guess *guess = g_new0(Guess, 1);

        guess->modules = g_hash_table_new_full(keyed_hash, g_str_equal, g_free, NULL);
        guess->imports = g_hash_table_new_full(keyed_hash, g_str_equal, g_free, NULL);
        guess->words = g_hash_table_new(keyed_hash, g_str_equal);
        guess->mains = g_hash_table_new(keyed_hash, g_str_equal);
        guess->programs = g_ptr_array_new_with_free_func(g_free);
        return guess;
}

void guess_free(Guess *guess)
{
        if (!guess)
                return;
        g_hash_table_unref(guess->modules);
        g_hash_table_unref(guess->imports);
        g_hash_table_unref(guess->words);
        g_hash_table_unref(guess->mains);
        g_ptr_array_unref(guess->programs);
        g_free(guess->needs);
        g_free(guess);
}

/* ---- reading ---- */

static void add_import(Guess *guess, const char *name)
{
        if (*name)
                g_hash_table_add(guess->imports, g_strdup(name));
}

static bool is_of_name(char c)
{
        return g_ascii_isalnum(c) || c == '_' || c == '.';
}

static char *take_name(const char **at)
{
        const char *start = *at + strspn(*at, " \t(");

        for (*at = start; is_of_name(**at);)
                (*at)++;
        return g_strndup(start, (gsize)(*at - start));
}

/* "import a.b as x, c" */
static void read_import(Guess *guess, const char *rest)
{
        g_auto(GStrv) parts = g_strsplit(rest, ",", -1);

        for (char **part = parts; *part; part++) {
                const char *at = *part;
                g_autofree char *name = take_name(&at);

                add_import(guess, name);
        }
}

/* "from a.b import c as x, d": a.b, a.b.c, a.b.d. A relative import is the directory's own. */
static void read_from(Guess *guess, const char *rest)
{
        g_autofree char *module = take_name(&rest);
        const char *names = strstr(rest, "import ");
        g_auto(GStrv) parts = g_strsplit(names ? names + 7 : "", ",", -1);

        if (!names || *module == '.')
                return;
        add_import(guess, module);
        for (char **part = parts; *part; part++) {
                const char *at = *part;
                g_autofree char *name = take_name(&at);
                g_autofree char *whole = *name ? g_strconcat(module, ".", name, NULL) : g_strdup("");

                add_import(guess, whole);
        }
}

static void read_line(Guess *guess, const char *line)
{
        static const char *const words[] = { "run_server", "init_server", "is_server",
                                             "ParameterServerStrategy", "MultiWorkerMirroredStrategy" };

        line += strspn(line, " \t");
        if (g_str_has_prefix(line, "import "))
                read_import(guess, line + 7);
        else if (g_str_has_prefix(line, "from "))
                read_from(guess, line + 5);
        for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
                if (strstr(line, words[i]))
                        g_hash_table_add(guess->words, (gpointer)words[i]);
}

void guess_add(Guess *guess, const char *path, const char *text)
{
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
        g_autofree char *module = g_strndup(path, strcspn(path, "/."));

        for (char **line = lines; *line; line++)
                read_line(guess, *line);
        g_hash_table_add(guess->modules, g_steal_pointer(&module));
        if (!strchr(path, '/') && g_str_has_suffix(path, ".py")) {
                char *kept = g_strdup(path);

                g_ptr_array_add(guess->programs, kept);
                if (strstr(text, "__main__"))
                        g_hash_table_add(guess->mains, kept);
        }
}

void guess_needs(Guess *guess, const char *file)
{
        g_free(guess->needs);
        guess->needs = g_strdup(file);
}

/* ---- conclusions ---- */

const char *guess_program(const Guess *guess)
{
        static const char *const usual[] = { "train.py", "main.py", "run.py" };
        const char *only = NULL;

        for (gsize n = 0; n < G_N_ELEMENTS(usual); n++)
                for (guint i = 0; i < guess->programs->len; i++)
                        if (strcmp(guess->programs->pdata[i], usual[n]) == 0)
                                return usual[n];
        if (guess->programs->len == 1)
                return guess->programs->pdata[0];
        for (guint i = 0; i < guess->programs->len; i++) {
                const char *program = guess->programs->pdata[i];

                if (g_hash_table_contains(guess->mains, program) && (!only || strcmp(program, only) < 0))
                        only = program;
        }
        return only;
}

static bool imports(const Guess *guess, const char *name)
{
        GHashTableIter at;
        gpointer key;
        gsize len = strlen(name);

        g_hash_table_iter_init(&at, guess->imports);
        while (g_hash_table_iter_next(&at, &key, NULL))
                if (g_str_has_prefix(key, name) &&
                    (!((const char *)key)[len] || ((const char *)key)[len] == '.'))
                        return true;
        return false;
}

static bool says(const Guess *guess, const char *word)
{
        return g_hash_table_contains(guess->words, word);
}

static bool serves(const Guess *guess)
{
        return says(guess, "run_server") || says(guess, "init_server") || says(guess, "is_server");
}

const char *guess_framework(const Guess *guess)
{
        if (imports(guess, "paddle") && serves(guess))
                return "paddle-ps";
        if (imports(guess, "paddle.distributed"))
                return "paddle-collective";
        if (imports(guess, "torch.distributed") ||
            imports(guess, "torch.nn.parallel.DistributedDataParallel"))
                return "pytorch";
        if (says(guess, "ParameterServerStrategy") || says(guess, "MultiWorkerMirroredStrategy"))
                return "tensorflow";
        if (imports(guess, "mpi4py"))
                return "mpi";
        return imports(guess, "pyspark") ? "spark" : "plain";
}

/* ---- packages ---- */

/* Modules outside Python's standard library, and the packages that contain them. */
static const struct {
        const char *module, *package;
} packages[] = {
        { "PIL", "pillow" },
        { "accelerate", NULL },
        { "cv2", "opencv-python-headless" },
        { "datasets", NULL },
        { "einops", NULL },
        { "h5py", NULL },
        { "jax", NULL },
        { "keras", NULL },
        { "lightgbm", NULL },
        { "lightning", NULL },
        { "matplotlib", NULL },
        { "mpi4py", NULL },
        { "numpy", NULL },
        { "paddle", "paddlepaddle" },
        { "pandas", NULL },
        { "pyarrow", NULL },
        { "pyspark", NULL },
        { "pytorch_lightning", "pytorch-lightning" },
        { "requests", NULL },
        { "safetensors", NULL },
        { "scipy", NULL },
        { "skimage", "scikit-image" },
        { "sklearn", "scikit-learn" },
        { "tensorflow", NULL },
        { "timm", NULL },
        { "tokenizers", NULL },
        { "torch", NULL },
        { "torchaudio", NULL },
        { "torchvision", NULL },
        { "tqdm", NULL },
        { "transformers", NULL },
        { "wandb", NULL },
        { "xgboost", NULL },
        { "yaml", "pyyaml" },
};

static void append_packages(GString *out, const Guess *guess)
{
        gsize before = out->len;

        if (guess->needs) {
                g_string_append_printf(
                        out, "# Python packages: those in %s are installed before the job starts.\n",
                        guess->needs);
                return;
        }
        for (gsize i = 0; i < G_N_ELEMENTS(packages); i++) {
                const char *module = packages[i].module;

                if (!imports(guess, module) || g_hash_table_contains(guess->modules, module))
                        continue;
                if (out->len == before)
                        g_string_append(
                                out,
                                "# Python packages, from the programs' imports; installed before the job "
                                "starts. Add versions\n# (numpy==1.26.4), or write a requirements.txt "
                                "and remove this.\nrequirements: |\n");
                g_string_append_printf(out, "  %s\n", packages[i].package ? packages[i].package : module);
        }
        if (out->len == before)
                g_string_append(
                        out, "# Python packages: a requirements.txt beside this file is installed before the "
                             "job starts.\n");
}

/* ---- the file ---- */

static const struct {
        const char *framework, *remark;
} remarks[] = {
        { "paddle-ps",
          "parameter servers hold the parameters, trainers train; TRAINING_ROLE tells a process its role" },
        { "paddle-collective",
          "trainers that exchange gradients; paddle.distributed finds the others by itself" },
        { "pytorch", "processes that exchange gradients; torch.distributed finds the others by itself" },
        { "tensorflow", "chief, workers and parameter servers; TF_CONFIG tells a process its role" },
        { "mpi", "ranks, started by mpirun on the master" },
        { "spark", "a driver and executors" },
        { "plain", "independent processes; more than one runs the same program several times" },
};

static void append_framework(GString *out, const Guess *guess)
{
        const char *name = guess_framework(guess);
        const Framework *framework = framework_find(name);

        for (gsize i = 0; i < G_N_ELEMENTS(remarks); i++)
                if (strcmp(remarks[i].framework, name) == 0)
                        g_string_append_printf(out, "# %s: %s.\n", name, remarks[i].remark);
        g_string_append_printf(out, "framework: %s\n\n", name);
        g_string_append(out, "# How many processes, and what each may use.\nroles:\n");
        for (int i = 0; framework->roles[i].name; i++)
                if (strcmp(framework->roles[i].name, framework->main_role) == 0 ||
                    strcmp(name, "paddle-ps") == 0)
                        g_string_append_printf(out,
                                               "- name: %s\n  replicas: 1\n  # cpu: 2\n  # memory: 4Gi\n%s",
                                               framework->roles[i].name,
                                               strcmp(framework->roles[i].name, "pserver") == 0
                                                       ? ""
                                                       : "  # gpus: 1\n");
}

/* A file's name as an item of a YAML list: plain if possible, otherwise as a JSON string, which is valid
 * YAML. NULL: not UTF-8. */
static char *word_of(const char *program)
{
        g_autoptr(json_t) text = json_string(program);
        bool plain = g_ascii_isalpha(*program) &&
                     program[strspn(program, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_.-")] == '\0';

        return !text ? NULL : plain ? g_strdup(program) : json_format(text);
}

char *guess_format(const Guess *guess, const char *name)
{
        g_autoptr(GString) out = g_string_new(NULL);
        const char *program = guess_program(guess);
        g_autofree char *word = program ? word_of(program) : NULL;

        g_string_append(
                out, "# The job of this directory. `paddle submit` sends the directory and runs the command; "
                     "its options override\n# this file. `paddle submit --plan` shows what it would do. "
                     "`paddle submit --help` lists the options.\n\n");
        g_string_append(out, "# Runs in a copy of the directory, once for each process.\n");
        if (word)
                g_string_append_printf(out, "command: [python, %s]\n\n", word);
        else
                g_string_append(out, "# command: [python, train.py]\n\n");
        append_framework(out, guess);
        g_string_append_c(out, '\n');
        append_packages(out, guess);
        g_string_append(out, "\n# Run once before the job, in a copy of the directory; all processes get the "
                             "files that it makes. It runs again\n# if its text or a file that it names has "
                             "changed.\n# setup: make -C ops\n");
        g_string_append_printf(
                out,
                "\n# The server's storage keeps files that the program writes to $PADDLE_OUTPUT.\n"
                "# `paddle download %s ../%s` brings it here.\n# output: %s\n",
                name, name, name);
        g_string_append(out, "\n# input: data          # a directory of the storage, as $PADDLE_INPUT\n"
                             "# env: {EPOCHS: \"3\"}    # variables of every process\n"
                             "# queue: default\n# time_limit: 2h\n# retries: 1\n");
        return g_string_free(g_steal_pointer(&out), FALSE);
}
