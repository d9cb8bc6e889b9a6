/* The system calls that members may not use (promise and reasons: doc/guide/security.md). This is a table of
 * exceptions: everything else is allowed. It refuses calls that create namespaces, mount, or reach into the
 * kernel, and calls that need a capability anyway, so that a bug in them cannot be exploited.
 *
 * There are two filters. The outer one refuses what neither spawner nor keeper needs: a spawner of sandboxed
 * members sets it once, and its children inherit it. The inner one refuses what these still need: the few
 * calls that create and enter a sandbox, give its /tmp to a project, and deny devices to a cgroup; each
 * member sets it for itself, last. A process without the outer one sets both.
 *
 * A filter is a search tree over the numbers. When it is set, the kernel runs it once for every existing call
 * and translates it, so each instruction costs time at each start. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/sandbox.h"

#if defined __x86_64__
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#define FOREIGN_BIT 0x40000000u /* of x32's numbers */
#elif defined __aarch64__
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#define FOREIGN_BIT 0u
#endif

/* clone3 is reported as missing: the C library then uses clone, whose flags a filter can see. io_uring and
 * userfaultfd are reported as missing as well: programs have a fallback. */
typedef enum { REFUSED = EPERM, ABSENT = ENOSYS, BY_FLAGS = -1, BY_FAMILY = -2, BY_REQUEST = -3 } Verdict;

/* SYS_file_setattr of newer headers. */
enum { FILE_SETATTR = 469 };

typedef struct {
        unsigned number;
        int verdict;
} Call;

/* Calls that the spawner, the holder, the keeper, and a member before its program runs, use themselves. */
static Call inner_calls[] = {
        { SYS_unshare, BY_FLAGS }, { SYS_clone3, ABSENT },  { SYS_setns, REFUSED },
        { SYS_mount, REFUSED },    { SYS_fsopen, REFUSED }, { SYS_fsconfig, REFUSED },
        { SYS_fsmount, REFUSED },  { SYS_bpf, REFUSED },    { SYS_ioctl, BY_REQUEST },
        { FILE_SETATTR, ABSENT }, /* programs fall back to the ioctl */
};

static Call outer_calls[] = {
        { SYS_clone, BY_FLAGS },
        { SYS_socket, BY_FAMILY },
        { SYS_socketpair, BY_FAMILY },
        /* mounts and roots */
        { SYS_umount2, REFUSED },
        { SYS_pivot_root, REFUSED },
        { SYS_chroot, REFUSED },
        { SYS_open_tree, REFUSED },
        { SYS_move_mount, REFUSED },
        { SYS_fspick, REFUSED },
        { SYS_mount_setattr, REFUSED },
        { SYS_quotactl, REFUSED },
        { SYS_quotactl_fd, REFUSED },
        { SYS_swapon, REFUSED },
        { SYS_swapoff, REFUSED },
        { SYS_open_by_handle_at, REFUSED },
        { SYS_fanotify_init, REFUSED },
        /* the kernel itself */
        { SYS_init_module, REFUSED },
        { SYS_finit_module, REFUSED },
        { SYS_delete_module, REFUSED },
        { SYS_kexec_load, REFUSED },
        { SYS_reboot, REFUSED },
        { SYS_syslog, REFUSED },
        { SYS_acct, REFUSED },
        { SYS_settimeofday, REFUSED },
        { SYS_clock_settime, REFUSED },
        { SYS_adjtimex, REFUSED },
        { SYS_clock_adjtime, REFUSED },
        { SYS_sethostname, REFUSED },
        { SYS_setdomainname, REFUSED },
        { SYS_vhangup, REFUSED },
        { SYS_nfsservctl, REFUSED },
        /* keyrings belong to the kernel, and all processes of a user share them */
        { SYS_add_key, REFUSED },
        { SYS_request_key, REFUSED },
        { SYS_keyctl, REFUSED },
        /* the kernel's most frequent bugs are here */
        { SYS_io_uring_setup, ABSENT },
        { SYS_io_uring_enter, ABSENT },
        { SYS_io_uring_register, ABSENT },
        { SYS_userfaultfd, ABSENT },
        { SYS_lookup_dcookie, REFUSED },
        { SYS_kexec_file_load, REFUSED },
#ifdef SYS_iopl
        { SYS_iopl, REFUSED },
        { SYS_ioperm, REFUSED },
        { SYS_modify_ldt, REFUSED },
        { SYS__sysctl, REFUSED },
        { SYS_uselib, REFUSED },
        { SYS_ustat, REFUSED },
        { SYS_sysfs, REFUSED },
        { SYS_create_module, REFUSED },
        { SYS_get_kernel_syms, REFUSED },
        { SYS_query_module, REFUSED },
#endif
};

enum {
        N_INNER = sizeof inner_calls / sizeof *inner_calls,
        N_OUTER = sizeof outer_calls / sizeof *outer_calls,
        PROGRAM_MAX = 16 * N_OUTER, /* a leaf has at most 18 instructions, most have 3; plus one per node */
        NAMESPACES = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |
                     CLONE_NEWPID | CLONE_NEWNET,
};

typedef struct {
        struct sock_filter at[PROGRAM_MAX];
        unsigned short n;
} Program;

static void add(Program *program, unsigned short code, unsigned char jt, unsigned char jf, unsigned k)
{
        program->at[program->n++] = (struct sock_filter){ code, jt, jf, k };
}

static void answer(Program *program, unsigned what)
{
        add(program, BPF_RET | BPF_K, 0, 0, what);
}

static void load(Program *program, size_t offset)
{
        add(program, BPF_LD | BPF_W | BPF_ABS, 0, 0, (unsigned)offset);
}

/* Netlink families that report links, sockets, devices and RDMA. NETLINK_CONNECTOR would also report the
 * machine's processes, once any process outside had enabled it. */
static void add_families(Program *program)
{
        static const unsigned families[] = { AF_UNIX, AF_INET, AF_INET6 };
        static const unsigned protocols[] = { NETLINK_ROUTE, NETLINK_SOCK_DIAG, NETLINK_KOBJECT_UEVENT,
                                              NETLINK_GENERIC, NETLINK_RDMA };
        enum {
                FAMILIES = sizeof families / sizeof *families,
                PROTOCOLS = sizeof protocols / sizeof *protocols,
                NETLINK = 4, /* instructions between the two lists, and before the end */
        };

        load(program, offsetof(struct seccomp_data, args[0]));
        for (int i = 0; i < FAMILIES; i++)
                add(program, BPF_JMP | BPF_JEQ | BPF_K,
                    (unsigned char)(FAMILIES - i - 1 + NETLINK + PROTOCOLS), 0, families[i]);
        add(program, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, AF_NETLINK);
        answer(program, SECCOMP_RET_ERRNO | EAFNOSUPPORT);
        load(program, offsetof(struct seccomp_data, args[2]));
        for (int i = 0; i < PROTOCOLS; i++)
                add(program, BPF_JMP | BPF_JEQ | BPF_K, (unsigned char)(PROTOCOLS - i), 0, protocols[i]);
        answer(program, SECCOMP_RET_ERRNO | EPROTONOSUPPORT);
        answer(program, SECCOMP_RET_ALLOW);
}

/* A file's owner may change its flags and its project id, and would so escape the limits of its tree
 * (doc/guide/storage.md). */
static void add_requests(Program *program)
{
        static const unsigned requests[] = { FS_IOC_FSSETXATTR, FS_IOC_SETFLAGS, FS_IOC32_SETFLAGS };
        enum { REQUESTS = sizeof requests / sizeof *requests };

        load(program, offsetof(struct seccomp_data, args[1]));
        for (int i = 0; i < REQUESTS; i++)
                add(program, BPF_JMP | BPF_JEQ | BPF_K, (unsigned char)(REQUESTS - i), 0, requests[i]);
        answer(program, SECCOMP_RET_ALLOW);
        answer(program, SECCOMP_RET_ERRNO | EPERM);
}

/* Only the lower half of an argument is checked: flags, families and protocols are int. */
static void add_verdict(Program *program, int verdict)
{
        if (verdict == BY_FLAGS) {
                load(program, offsetof(struct seccomp_data, args[0]));
                add(program, BPF_JMP | BPF_JSET | BPF_K, 0, 1, NAMESPACES);
                answer(program, SECCOMP_RET_ERRNO | EPERM);
                answer(program, SECCOMP_RET_ALLOW);
        } else if (verdict == BY_FAMILY) {
                add_families(program);
        } else if (verdict == BY_REQUEST) {
                add_requests(program);
        } else {
                answer(program, SECCOMP_RET_ERRNO | (unsigned)verdict);
        }
}

/* The calls first..last; numbers between two of them are allowed. */
static void add_tree(Program *program, const Call *calls, int first, int last)
{
        int middle = (first + last + 1) / 2;
        unsigned short node, leaf = program->n;

        if (first == last) {
                add(program, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, calls[first].number);
                answer(program, SECCOMP_RET_ALLOW);
                add_verdict(program, calls[first].verdict);
                return;
        }
        node = leaf;
        add(program, BPF_JMP | BPF_JGE | BPF_K, 0, 0, calls[middle].number);
        add_tree(program, calls, first, middle - 1);
        program->at[node].jt = (unsigned char)(program->n - node - 1); /* half of the tree is below 256 */
        add_tree(program, calls, middle, last);
}

static int compare(const void *a, const void *b)
{
        const Call *one = a, *other = b;

        return (one->number > other->number) - (one->number < other->number);
}

#ifdef NATIVE_ARCH
static void make(Program *program, Call *calls, int n)
{
        qsort(calls, (size_t)n, sizeof *calls, compare);
        load(program, offsetof(struct seccomp_data, arch));
        add(program, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, NATIVE_ARCH);
        answer(program, SECCOMP_RET_ERRNO | ENOSYS); /* a foreign ABI's numbers mean other calls */
        load(program, offsetof(struct seccomp_data, nr));
        if (FOREIGN_BIT) {
                add(program, BPF_JMP | BPF_JGE | BPF_K, 0, 1, FOREIGN_BIT);
                answer(program, SECCOMP_RET_ERRNO | ENOSYS);
        }
        add_tree(program, calls, 0, n - 1);
}

static bool set(const Program *program)
{
        struct sock_fprog filter = { program->n, (struct sock_filter *)program->at };

        return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0;
}

static Program inner, outer; /* built by the spawner, so that its keepers inherit them */
static bool has_outer;       /* true in this process and all its children */

bool sandbox_filter_early(void)
{
        if (has_outer)
                return true;
        if (outer.n == 0) {
                make(&inner, inner_calls, N_INNER);
                make(&outer, outer_calls, N_OUTER);
        }
        return has_outer = set(&outer);
}

bool sandbox_filter_calls(void)
{
        return sandbox_filter_early() && set(&inner);
}
#else
bool sandbox_filter_early(void)
{
        errno = ENOSYS;
        return false;
}

bool sandbox_filter_calls(void)
{
        return sandbox_filter_early();
}
#endif
