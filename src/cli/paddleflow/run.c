/* The frame of a run under the older name (see run.h). */
#include "cli/paddleflow/run.h"

#include <stdio.h>

#include "base/err.h"
#include "cli/paddleflow/print.h"
#include "cli/paddleflow/request.h"

enum { EXIT_FAILED = 1, EXIT_USAGE = 2 };

static bool run_command(const PaddleFlowArgs *args, GError **error)
{
        g_autoptr(PaddleFlowConfig) config = paddleflow_config_read(args->config, error);
        g_autoptr(json_t) reply = NULL;

        return config && paddleflow_call(config, args, &reply, error) && paddleflow_print(args, reply, error);
}

int paddleflow_run(int argc, char *const *argv)
{
        g_auto(PaddleFlowArgs) args = { 0 };
        g_autoptr(GError) error = NULL;
        bool ok = paddleflow_args_parse(argc, argv, &args, &error);

        if (ok && args.help)
                fputs(args.help, stdout);
        else if (ok)
                ok = run_command(&args, &error);
        if (!ok)
                fprintf(stderr, "%s\n", error->message);
        if (fflush(stdout) != 0 && ok)
                return EXIT_FAILED;
        return ok ? 0 : err_is(error, ERR_USAGE) ? EXIT_USAGE : EXIT_FAILED;
}
