/* Giving memory back (see resident.h).
 *
 * Most of the code of a library is used once: by the dynamic linker, which reads its tables of symbols, and by its
 * start. The kernel maps 16 pages around each page that is used, and does not unmap them while memory is free. Only
 * pages that never change may be dropped, since their content is read from the file again: segments that are mapped
 * without the right to write, of objects whose code is not relocated. */
#include "base/resident.h"

#include <elf.h>
#include <link.h>
#include <malloc.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

/* Does the dynamic linker write into its segments of code? */
static bool relocates_code(const struct dl_phdr_info *object)
{
        for (int i = 0; i < object->dlpi_phnum; i++) {
                const ElfW(Phdr) *segment = &object->dlpi_phdr[i];

                if (segment->p_type != PT_DYNAMIC)
                        continue;
                for (const ElfW(Dyn) *entry = (const void *)(object->dlpi_addr + segment->p_vaddr);
                     entry->d_tag != DT_NULL; entry++)
                        if (entry->d_tag == DT_TEXTREL ||
                            (entry->d_tag == DT_FLAGS && entry->d_un.d_val & DF_TEXTREL))
                                return true;
        }
        return false;
}

/* Whole pages only: a page at an end may be shared with the next segment. */
static int drop_code(struct dl_phdr_info *object, size_t size, void *arg)
{
        const ElfW(Addr) page = *(const ElfW(Addr) *)arg;

        if (relocates_code(object))
                return 0;
        for (int i = 0; i < object->dlpi_phnum; i++) {
                const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
                ElfW(Addr) begin = object->dlpi_addr + segment->p_vaddr, end = begin + segment->p_memsz;

                if (segment->p_type != PT_LOAD || segment->p_flags & PF_W)
                        continue;
                begin = (begin + page - 1) / page * page;
                end = end / page * page;
                if (begin < end) /* a kernel that refuses this keeps the pages mapped */
                        (void)madvise((void *)begin, end - begin, MADV_DONTNEED);
        }
        return 0;
}

void resident_give_back(void)
{
        ElfW(Addr) page = (ElfW(Addr))sysconf(_SC_PAGESIZE);

        (void)malloc_trim(0); /* whether there was something to give back */
        (void)dl_iterate_phdr(drop_code, &page);
}
