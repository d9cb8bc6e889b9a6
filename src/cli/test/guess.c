/* Job files guessed from programs. */
#include "cli/guess.h"

#include <string.h>

#include "base/yaml.h"
#include "model/spec.h"

static const struct {
        const char *path, *text;
        const char *framework;
} programs[] = {
        { "train.py", "print('x')\n", "plain" },
        { "train.py", "import numpy as np\nimport torch\n", "plain" },
        { "train.py", "import paddle\nfrom paddle.distributed import fleet\nfleet.init_server()\n",
          "paddle-ps" },
        { "train.py", "from paddle import distributed as dist\n", "paddle-collective" },
        { "train.py", "import paddle, paddle.distributed.fleet as fleet\n", "paddle-collective" },
        { "train.py", "import torch.distributed as dist\n", "pytorch" },
        { "train.py", "if 1:\n    from torch.nn.parallel import DistributedDataParallel as DDP\n",
          "pytorch" },
        { "train.py", "import tensorflow as tf\ns = tf.distribute.ParameterServerStrategy()\n",
          "tensorflow" },
        { "train.py", "import tensorflow as tf\ns = tf.distribute.MultiWorkerMirroredStrategy()\n",
          "tensorflow" },
        { "train.py", "from tensorflow.distribute.experimental import ParameterServerStrategyV2\n",
          "tensorflow" },
        { "train.py", "from mpi4py import MPI\n", "mpi" },
        { "train.py", "from pyspark.sql import SparkSession\n", "spark" },
        { "train.py", "import paddleocr\n# import torch.distributed\n", "plain" },
};

/* The guessed file is always a valid job file. */
static void test_frameworks(void)
{
        for (gsize i = 0; i < G_N_ELEMENTS(programs); i++) {
                g_autoptr(Guess) guess = guess_new();
                g_autofree char *text = NULL;
                g_autoptr(json_t) file = NULL;
                g_autoptr(GError) error = NULL;
                g_autoptr(Spec) spec = NULL;

                guess_add(guess, programs[i].path, programs[i].text);
                g_test_message("%s", programs[i].text);
                g_assert_cmpstr(guess_framework(guess), ==, programs[i].framework);
                text = guess_format(guess, "demo");
                file = yaml_parse(text, strlen(text), "paddle.yaml", &error);
                g_assert_no_error(error);
                spec = spec_parse(file, &error);
                g_assert_no_error(error);
                g_assert_nonnull(spec);
        }
}

static void test_programs(void)
{
        static const struct {
                const char *files; /* separated by blanks; those with a star mention __main__ */
                const char *program;
        } rows[] = {
                { "data.py main.py train.py", "train.py" },
                { "data.py main.py", "main.py" },
                { "only.py", "only.py" },
                { "a.py b.py*", "b.py" },
                { "b.py* a.py*", "a.py" },
                { "a.py b.py", NULL },
                { "sub/train.py", NULL },
                { "", NULL },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_autoptr(Guess) guess = guess_new();
                g_auto(GStrv) files = g_strsplit(rows[i].files, " ", -1);

                for (char **file = files; *file && **file; file++) {
                        bool is_main = g_str_has_suffix(*file, "*");

                        (*file)[strcspn(*file, "*")] = '\0';
                        guess_add(guess, *file, is_main ? "if __name__ == '__main__':\n" : "x = 1\n");
                }
                g_assert_cmpstr(guess_program(guess), ==, rows[i].program);
        }
}

/* The program is one word of the command, whatever its name is. */
static void test_names(void)
{
        static const char *const names[] = { "train.py", "a,b.py",        "x: y.py", "[a].py", "it's.py",
                                             "\"q\".py", "#1.py",         "-v.py",   "a b.py", "数字.py",
                                             "a\\b.py",  "two\nlines.py", "~.py",    "{}.py",  "*x.py" };

        for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
                g_autoptr(Guess) guess = guess_new();
                g_autofree char *text = NULL;
                g_autoptr(json_t) file = NULL, expected = json_pack("[s, s]", "python", names[i]);
                g_autoptr(GError) error = NULL;

                guess_add(guess, names[i], "x = 1\n");
                text = guess_format(guess, "demo");
                file = yaml_parse(text, strlen(text), "paddle.yaml", &error);
                g_assert_no_error(error);
                g_assert_true(json_equal(json_object_get(file, "command"), expected));
        }
}

static void test_packages(void)
{
        g_autoptr(Guess) guess = guess_new(), told = guess_new();
        g_autofree char *text = NULL, *other = NULL;

        guess_add(guess, "train.py",
                  "import os, numpy as np\nfrom sklearn.datasets import load_digits\nimport yaml\n");
        guess_add(guess, "yaml/__init__.py", "import cv2\n"); /* the directory's own module */
        text = guess_format(guess, "demo");
        g_assert_nonnull(
                strstr(text, "requirements: |\n  opencv-python-headless\n  numpy\n  scikit-learn\n"));
        g_assert_null(strstr(text, "pyyaml"));
        guess_add(told, "train.py", "import numpy\n");
        guess_needs(told, "uv.lock");
        other = guess_format(told, "demo");
        g_assert_null(strstr(other, "\nrequirements:"));
        g_assert_nonnull(strstr(other, "those in uv.lock"));
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/guess/frameworks", test_frameworks);
        g_test_add_func("/guess/programs", test_programs);
        g_test_add_func("/guess/names", test_names);
        g_test_add_func("/guess/packages", test_packages);
        return g_test_run();
}
