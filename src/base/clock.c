/* Clocks (see clock.h). */
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"

gint64 clock_now_ms(void)
{
        return g_get_real_time() / 1000;
}

gint64 clock_monotonic_ms(void)
{
        return g_get_monotonic_time() / 1000;
}

/* Writes `n` decimal digits and returns what follows them. */
static char *put_digits(char *at, int n, int number, char end)
{
        for (int i = n - 1; i >= 0; i--, number /= 10)
                at[i] = (char)('0' + number % 10);
        at[n] = end;
        return at + n + 1;
}

/* Each job that is shown has several times: printf would take half of what they cost. */
char *clock_format(gint64 ms)
{
        time_t seconds = ms / 1000;
        char *text, *at;
        struct tm tm;

        gmtime_r(&seconds, &tm);
        if (ms < 0 || tm.tm_year + 1900 > 9999)
                return g_strdup_printf("%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", tm.tm_year + 1900,
                                       tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
                                       (int)(ms % 1000));
        text = at = g_malloc(sizeof "2026-03-01T10:00:00.123Z");
        at = put_digits(at, 4, tm.tm_year + 1900, '-');
        at = put_digits(at, 2, tm.tm_mon + 1, '-');
        at = put_digits(at, 2, tm.tm_mday, 'T');
        at = put_digits(at, 2, tm.tm_hour, ':');
        at = put_digits(at, 2, tm.tm_min, ':');
        at = put_digits(at, 2, tm.tm_sec, '.');
        at = put_digits(at, 3, (int)(ms % 1000), 'Z');
        *at = '\0';
        return text;
}

bool clock_boot_id(char ret_id[37], GError **error)
{
        int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
        ssize_t got = fd < 0 ? -1 : read(fd, ret_id, 36);

        if (fd >= 0)
                close(fd);
        if (got != 36)
                return err_set_errno(error, got < 0 ? errno : EIO, "cannot read the boot id of this machine");
        ret_id[36] = '\0';
        return true;
}
