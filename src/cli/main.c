/* paddle: the command line of the platform. Under the name `paddleflow` it behaves like that client. */
#include <string.h>

#include "base/json.h"
#include "cli/cli.h"
#include "cli/paddleflow/run.h"

int main(int argc, char **argv)
{
        const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
        const char *name = slash ? slash + 1 : argc > 0 ? argv[0] : "";

        json_init();
        return strcmp(name, "paddleflow") == 0 ? paddleflow_run(argc - 1, argv + 1)
                                               : cli_run(MAX(argc - 1, 0), argv + 1);
}
