/* Files into containers (see delivery.h). The file is read as the connection takes it. */
#include "runtime/kubernetes/image/delivery.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/err.h"
#include "base/timer.h"
#include "kube/exec.h"

enum {
        PIECE = 256 * 1024,
        UNSENT_MAX = 1024 * 1024, /* of what was written */
        PUMP_MS = 10,
        SAID_MAX = 1024, /* bytes of what the command says that are kept */
};

struct Delivery {
        DeliveryConfig config; /* its texts are not kept */
        KubeExec *exec;
        Timer *pump;
        GString *said;
        char *piece;
        int fd;
};

static void on_output(int fd, const char *data, gsize len, void *arg)
{
        Delivery *delivery = arg;

        if (delivery->said->len < SAID_MAX)
                g_string_append_len(delivery->said, data, (gssize)MIN(len, SAID_MAX - delivery->said->len));
}

static void on_done(int exit_status, const GError *error, void *arg)
{
        Delivery *delivery = arg;
        g_autofree char *problem = NULL;

        delivery->exec = NULL;
        timer_clear(&delivery->pump);
        if (error)
                problem = g_strdup(error->message);
        else if (exit_status != 0)
                problem = g_strdup_printf("the command ended with status %d: %s", exit_status,
                                          g_strstrip(delivery->said->str));
        delivery->config.done(problem, delivery->config.arg);
}

static void on_pump(void *arg)
{
        Delivery *delivery = arg;
        ssize_t got = 1;

        while (kube_exec_unsent(delivery->exec) < UNSENT_MAX &&
               (got = read(delivery->fd, delivery->piece, PIECE)) > 0)
                (void)kube_exec_write(delivery->exec, delivery->piece, (gsize)got); /* there is room for it */
        /* If the file could not be read, this is too early, and the command says so. */
        if (got == 0 || (got < 0 && errno != EINTR))
                kube_exec_close_input(delivery->exec);
        else
                timer_set(&delivery->pump, delivery->config.context, PUMP_MS, on_pump, delivery);
}

Delivery *delivery_new(KubeClient *client, const DeliveryConfig *config)
{
        Delivery *delivery = g_new0(Delivery, 1);
        KubeExecConfig exec = { .namespace = config->namespace,
                                .pod = config->pod,
                                .container = config->container,
                                .argv = config->argv,
                                .input = true,
                                .output = on_output,
                                .done = on_done,
                                .arg = delivery };

        delivery->config = *config;
        delivery->said = g_string_new(NULL);
        delivery->piece = g_malloc(PIECE);
        delivery->fd = open(config->path, O_RDONLY | O_CLOEXEC);
        delivery->exec = kube_exec(client, &exec);
        timer_set(&delivery->pump, config->context, PUMP_MS, on_pump, delivery);
        return delivery;
}

void delivery_free(Delivery *delivery)
{
        if (!delivery)
                return;
        if (delivery->exec)
                kube_exec_cancel(delivery->exec);
        timer_clear(&delivery->pump);
        if (delivery->fd >= 0)
                close(delivery->fd);
        g_string_free(delivery->said, TRUE);
        g_free(delivery->piece);
        g_free(delivery);
}
