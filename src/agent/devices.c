/* The program (see devices.h):
 *
 *   character device?  ─▶ of the major number?  ─▶ minor < 64?  ─▶ 1 unless the minor's bit is set
 *        └──────────────────────┴───────────────────────┴─────────▶ 1
 */
#include "agent/devices.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { KIND = 0xffff /* the half of access_type that tells character devices from block devices */ };

static int call(int what, union bpf_attr *attributes)
{
        return (int)syscall(SYS_bpf, what, attributes, sizeof *attributes);
}

static int load_program(const DeviceSet *set)
{
        const struct bpf_insn program[] = {
                /* the jumps lead to "r0 = 1" at the end */
                { BPF_LDX | BPF_MEM | BPF_W, 2, 1, offsetof(struct bpf_cgroup_dev_ctx, access_type), 0 },
                { BPF_ALU | BPF_AND | BPF_K, 2, 0, 0, KIND },
                { BPF_JMP | BPF_JNE | BPF_K, 2, 0, 10, BPF_DEVCG_DEV_CHAR },
                { BPF_LDX | BPF_MEM | BPF_W, 2, 1, offsetof(struct bpf_cgroup_dev_ctx, major), 0 },
                { BPF_JMP | BPF_JNE | BPF_K, 2, 0, 8, (int32_t)set->major },
                { BPF_LDX | BPF_MEM | BPF_W, 2, 1, offsetof(struct bpf_cgroup_dev_ctx, minor), 0 },
                { BPF_JMP | BPF_JGE | BPF_K, 2, 0, 6, DEVICE_MINORS },
                { BPF_LD | BPF_IMM | BPF_DW, 0, 0, 0, (int32_t)(uint32_t)set->minors },
                { 0, 0, 0, 0, (int32_t)(uint32_t)(set->minors >> 32) }, /* the other half */
                { BPF_ALU64 | BPF_RSH | BPF_X, 0, 2, 0, 0 },
                { BPF_ALU64 | BPF_AND | BPF_K, 0, 0, 0, 1 },
                { BPF_ALU64 | BPF_XOR | BPF_K, 0, 0, 0, 1 },
                { BPF_JMP | BPF_EXIT, 0, 0, 0, 0 },
                { BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 1 },
                { BPF_JMP | BPF_EXIT, 0, 0, 0, 0 },
        };
        union bpf_attr attributes = { .prog_type = BPF_PROG_TYPE_CGROUP_DEVICE };

        attributes.insns = (uint64_t)(uintptr_t)program;
        attributes.insn_cnt = sizeof program / sizeof *program;
        attributes.license = (uint64_t)(uintptr_t) "GPL";
        return call(BPF_PROG_LOAD, &attributes);
}

bool devices_can_deny(void)
{
        int program = load_program(&(DeviceSet){ .minors = 1 });

        if (program >= 0)
                close(program);
        return program >= 0;
}

static bool attach(int group, const DeviceSet *set)
{
        union bpf_attr attributes = { .attach_type = BPF_CGROUP_DEVICE };
        int program = load_program(set);
        bool ok;

        if (program < 0)
                return false;
        attributes.target_fd = (uint32_t)group;
        attributes.attach_bpf_fd = (uint32_t)program;
        ok = call(BPF_PROG_ATTACH, &attributes) == 0;
        close(program);
        return ok;
}

static bool detach(int group)
{
        union bpf_attr attributes = { .attach_type = BPF_CGROUP_DEVICE };

        attributes.target_fd = (uint32_t)group;
        return call(BPF_PROG_DETACH, &attributes) == 0 || errno == ENOENT;
}

bool devices_deny(const char *dir, const DeviceSet *set)
{
        int group = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        bool ok = group >= 0 && (set->minors ? attach(group, set) : detach(group));

        if (group >= 0)
                close(group);
        return ok;
}
