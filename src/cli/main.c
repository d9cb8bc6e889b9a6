/* paddle: the command line of the platform. */
#include "base/json.h"
#include "cli/cli.h"

int main(int argc, char **argv)
{
        json_init();
        return cli_run(argc - 1, argv + 1);
}
