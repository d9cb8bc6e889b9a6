/* Spare directories (see spares.h). */
#include "runtime/local/spares.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/number.h"

enum { SPARES_MAX = 256, NUMBER_MAX = 1 << 30, WORK_MODE = 0700 };

struct Spares {
        char *dir;
        pthread_mutex_t lock;
        int next;                   /* a number that no spare has */
        int numbers[SPARES_MAX], n; /* numbers of the kept ones */
};

static void take_over(Spares *spares)
{
        DIR *dir = opendir(spares->dir);

        for (struct dirent *entry; dir && (entry = readdir(dir));) {
                gint64 number;

                if (!number_parse("spare", entry->d_name, 0, NUMBER_MAX, &number, NULL))
                        continue;
                (void)fchmodat(dirfd(dir), entry->d_name, WORK_MODE, 0); /* created by an older version */
                spares->next = MAX(spares->next, (int)number + 1);
                if (spares->n < SPARES_MAX)
                        spares->numbers[spares->n++] = (int)number;
        }
        if (dir)
                closedir(dir);
}

Spares *spares_open(const char *dir, GError **error)
{
        Spares *spares;

        if (!file_mkdirs(dir, 0700, error))
                return NULL;
        spares = g_new0(Spares, 1);
        spares->dir = g_strdup(dir);
        pthread_mutex_init(&spares->lock, NULL);
        take_over(spares);
        return spares;
}

void spares_close(Spares *spares)
{
        if (!spares)
                return;
        pthread_mutex_destroy(&spares->lock);
        g_free(spares->dir);
        g_free(spares);
}

static char *spare_path(const Spares *spares, int number)
{
        return g_strdup_printf("%s/%d", spares->dir, number);
}

bool spares_take(Spares *spares, const char *path)
{
        g_autofree char *spare = NULL;
        int number = -1;

        pthread_mutex_lock(&spares->lock);
        if (spares->n > 0)
                number = spares->numbers[--spares->n];
        pthread_mutex_unlock(&spares->lock);
        if (number < 0)
                return false;
        spare = spare_path(spares, number);
        return rename(spare, path) == 0;
}

/* A directory of another user may still be open in a process: it is not reused. */
static bool is_empty_and_ours(const char *path)
{
        DIR *dir = opendir(path);
        int entries = 0;
        struct stat st;

        if (!dir)
                return false;
        if (fstat(dirfd(dir), &st) < 0 || st.st_uid != geteuid())
                entries = SPARES_MAX;
        while (entries <= 2 && readdir(dir))
                entries++;
        closedir(dir);
        return entries == 2; /* . and .. */
}

bool spares_give(Spares *spares, const char *path)
{
        g_autofree char *spare = NULL;
        int number = -1;

        if (!is_empty_and_ours(path) || chmod(path, WORK_MODE) < 0)
                return false;
        pthread_mutex_lock(&spares->lock);
        if (spares->n < SPARES_MAX)
                number = spares->next++;
        pthread_mutex_unlock(&spares->lock);
        if (number < 0)
                return false;
        spare = spare_path(spares, number);
        if (rename(path, spare) < 0)
                return false;
        pthread_mutex_lock(&spares->lock);
        if (spares->n < SPARES_MAX)
                spares->numbers[spares->n++] = number; /* a surplus directory stays until the next start */
        pthread_mutex_unlock(&spares->lock);
        return true;
}
