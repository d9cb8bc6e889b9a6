/* The BPF programs (see egress.h), built instruction by instruction: they are short enough to do without a
 * compiler or a library.
 *
 *   connect4, sendmsg4:   rule after rule: address & mask == network, and the port      ─▶ 1; at the end 0
 *   connect6, sendmsg6:   an IPv4 address in IPv6 (::ffff:a.b.c.d) by the rules of IPv4, else word by word
 *   sock_create:          TCP and UDP
 *   packets:              no source route (IPV6_RTHDR needs no right): it would send to another address than
 *                         the one that was checked. Loopback only by its own device, also with
 *                         SO_BINDTODEVICE
 */
#include "agent/egress.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"

enum {
        BUILT_IN = 4,
        INSTRUCTIONS_MAX = 16 * (EGRESS_RULES_MAX + BUILT_IN) + 32,
        MOUNTS_MAX = 4 << 20,
        WORDS6 = 4,
        LOOPBACK_DEVICE = 1, /* its number in every network namespace */
        IP4_HEAD = 20,       /* of a header without options */
        IP4_FIRST = 0x45,    /* the first byte of such a header */
        IP4_TO = 16,
        IP6_HEAD = 40,
        IP6_NEXT = 6, /* the type of the next header */
        IP6_TO = 24,
};

typedef struct {
        int family;
        guint32 network[WORDS6], mask[WORDS6]; /* network byte order; IPv4 uses one word */
        guint32 port;                          /* the same, in the kernel's representation; 0: any */
} Rule;

typedef struct {
        struct bpf_insn at[INSTRUCTIONS_MAX];
        guint n;
} Program;

/* ---- rules ---- */

static bool make_rule(const char *address, int bits, int port, Rule *ret)
{
        int words;

        *ret = (Rule){ .family = strchr(address, ':') ? AF_INET6 : AF_INET, .port = htons((guint16)port) };
        words = ret->family == AF_INET6 ? WORDS6 : 1;
        if (bits < 0 || bits > 32 * words || inet_pton(ret->family, address, ret->network) != 1)
                return false;
        for (int i = 0; i < words; i++) {
                int left = CLAMP(bits - 32 * i, 0, 32);

                ret->mask[i] = htonl(left ? ~0u << (32 - left) : 0);
                ret->network[i] &= ret->mask[i];
        }
        return true;
}

static bool read_rules(const json_t *list, GArray *ret, GError **error)
{
        gsize i;
        json_t *item;

        if (json_array_size(list) > EGRESS_RULES_MAX)
                return err_set(error, ERR_INVALID, "egress: more than %d rules", EGRESS_RULES_MAX);
        json_array_foreach(list, i, item) {
                const char *address = NULL;
                gint64 bits = 0, port = 0;
                Rule rule;

                if (!json_get_string(item, "egress.", "address", INET6_ADDRSTRLEN, &address, error) ||
                    !json_get_int(item, "egress.", "bits", 0, 128, &bits, error) ||
                    !json_get_int(item, "egress.", "port", 0, 65535, &port, error))
                        return false;
                if (!address || !make_rule(address, (int)bits, (int)port, &rule))
                        return err_set(error, ERR_INVALID, "egress[%" G_GSIZE_FORMAT "] is not an address",
                                       i);
                g_array_append_val(ret, rule);
        }
        return true;
}

/* Loopback, and the addresses that are equivalent to it. */
static void add_built_in(GArray *rules)
{
        static const struct {
                const char *address;
                int bits;
        } own[BUILT_IN] = { { "127.0.0.0", 8 }, { "0.0.0.0", 32 }, { "::1", 128 }, { "::", 128 } };
        Rule rule;

        for (int i = 0; i < BUILT_IN; i++)
                if (make_rule(own[i].address, own[i].bits, 0, &rule))
                        g_array_append_val(rules, rule);
}

/* ---- programs ---- */

static void add(Program *program, guint8 code, int to, int from, int offset, guint32 value)
{
        program->at[program->n++] = (struct bpf_insn){
                .code = code,
                .dst_reg = (guint8)(to & 15),
                .src_reg = (guint8)(from & 15),
                .off = (gint16)offset,
                .imm = (gint32)value,
        };
}

static void load(Program *program, int to, size_t offset)
{
        add(program, BPF_LDX | BPF_MEM | BPF_W, to, BPF_REG_1, (int)offset, 0);
}

static void answer(Program *program, guint32 value)
{
        add(program, BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, value);
        add(program, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

/* Appends a jump that is taken if the register has another value; returns its index. */
static guint unless(Program *program, int reg, guint32 value)
{
        add(program, BPF_JMP32 | BPF_JNE | BPF_K, reg, 0, 0, value);
        return program->n - 1;
}

static void land(Program *program, const guint *jumps, int n)
{
        for (int i = 0; i < n; i++)
                program->at[jumps[i]].off = (gint16)(program->n - jumps[i] - 1);
}

/* Expects the address in the registers from `first` on and the port in `port`. Register 0 is free. */
static void add_rule(Program *program, const Rule *rule, int first, int port)
{
        guint jumps[WORDS6 + 1];
        int n = 0;

        for (int i = 0; i < (rule->family == AF_INET6 ? WORDS6 : 1); i++) {
                if (!rule->mask[i])
                        continue;
                add(program, BPF_ALU | BPF_MOV | BPF_X, BPF_REG_0, first + i, 0, 0);
                add(program, BPF_ALU | BPF_AND | BPF_K, BPF_REG_0, 0, 0, rule->mask[i]);
                jumps[n++] = unless(program, BPF_REG_0, rule->network[i]);
        }
        if (rule->port)
                jumps[n++] = unless(program, port, rule->port);
        answer(program, 1);
        land(program, jumps, n);
}

static void add_rules(Program *program, const GArray *rules, int family, int first, int port)
{
        for (guint i = 0; i < rules->len; i++) {
                const Rule *rule = &g_array_index(rules, Rule, i);

                if (rule->family == family)
                        add_rule(program, rule, first, port);
        }
        answer(program, 0);
}

static void make_4(Program *program, const GArray *rules)
{
        load(program, BPF_REG_2, offsetof(struct bpf_sock_addr, user_ip4));
        load(program, BPF_REG_6, offsetof(struct bpf_sock_addr, user_port));
        add_rules(program, rules, AF_INET, BPF_REG_2, BPF_REG_6);
}

static void make_6(Program *program, const GArray *rules)
{
        guint jumps[3];

        for (int i = 0; i < WORDS6; i++)
                load(program, BPF_REG_2 + i,
                     offsetof(struct bpf_sock_addr, user_ip6) + sizeof(guint32) * (gsize)i);
        load(program, BPF_REG_6, offsetof(struct bpf_sock_addr, user_port));
        jumps[0] = unless(program, BPF_REG_2, 0);
        jumps[1] = unless(program, BPF_REG_3, 0);
        jumps[2] = unless(program, BPF_REG_4, htonl(0xffff));
        add_rules(program, rules, AF_INET, BPF_REG_5, BPF_REG_6);
        land(program, jumps, 3);
        add_rules(program, rules, AF_INET6, BPF_REG_2, BPF_REG_6);
}

static void make_sockets(Program *program, const GArray *rules)
{
        static const guint32 kinds[][2] = { { SOCK_STREAM, IPPROTO_TCP }, { SOCK_DGRAM, IPPROTO_UDP } };

        load(program, BPF_REG_2, offsetof(struct bpf_sock, type));
        load(program, BPF_REG_3, offsetof(struct bpf_sock, protocol));
        for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++) {
                guint jumps[] = { unless(program, BPF_REG_2, kinds[i][0]), 0 };

                jumps[1] = unless(program, BPF_REG_3, kinds[i][1]);
                answer(program, 1);
                land(program, jumps, 2);
        }
        answer(program, 0);
}

/* Loads from the copy that copy_packet() has put on the stack. `size`: BPF_B or BPF_W */
static void load_copy(Program *program, guint8 size, int offset)
{
        add(program, BPF_LDX | BPF_MEM | size, BPF_REG_0, BPF_REG_10, offset - IP6_HEAD, 0);
}

/* Copies bytes of the packet to the same offset of the copy, or to `to`. Register 6 holds the context.
 * Returns the index of the jump that is taken if the packet is shorter. */
static guint copy_packet(Program *program, int from, int to, int len)
{
        add(program, BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_1, BPF_REG_6, 0, 0);
        add(program, BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_2, 0, 0, (guint32)from);
        add(program, BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_3, BPF_REG_10, 0, 0);
        add(program, BPF_ALU64 | BPF_ADD, BPF_REG_3, 0, 0, (guint32)(to - IP6_HEAD)); /* BPF_K is 0 as well */
        add(program, BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_4, 0, 0, (guint32)len);
        add(program, BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_skb_load_bytes);
        return unless(program, BPF_REG_0, 0);
}

/* Register 7 holds the device. Appends the jumps of refused packets. */
static void check_4(Program *program, guint *refused, int *n)
{
        guint other;

        load_copy(program, BPF_B, IP4_TO);
        other = unless(program, BPF_REG_0, IN_LOOPBACKNET);
        refused[(*n)++] = unless(program, BPF_REG_7, LOOPBACK_DEVICE);
        land(program, &other, 1);
        answer(program, 1);
}

/* The kernel itself puts a hop-by-hop header before the others in packets of more than 64 KiB. */
static void check_6(Program *program, guint *refused, int *n)
{
        guint other[WORDS6], plain;

        refused[(*n)++] = copy_packet(program, 0, 0, IP6_HEAD);
        load_copy(program, BPF_B, 0);
        add(program, BPF_ALU | BPF_AND | BPF_K, BPF_REG_0, 0, 0, 0xf0);
        refused[(*n)++] = unless(program, BPF_REG_0, 0x60);
        load_copy(program, BPF_B, IP6_NEXT);
        plain = unless(program, BPF_REG_0, IPPROTO_HOPOPTS);
        refused[(*n)++] = copy_packet(program, IP6_HEAD, IP6_NEXT, 1);
        load_copy(program, BPF_B, IP6_NEXT);
        land(program, &plain, 1);
        add(program, BPF_JMP32 | BPF_JEQ | BPF_K, BPF_REG_0, 0, 1, IPPROTO_TCP);
        refused[(*n)++] = unless(program, BPF_REG_0, IPPROTO_UDP);
        for (int i = 0; i < WORDS6; i++) {
                load_copy(program, BPF_W, IP6_TO + (int)sizeof(guint32) * i);
                other[i] = unless(program, BPF_REG_0, i == WORDS6 - 1 ? htonl(1) : 0);
        }
        refused[(*n)++] = unless(program, BPF_REG_7, LOOPBACK_DEVICE);
        land(program, other, WORDS6);
        answer(program, 1);
}

static void make_packets(Program *program, const GArray *rules)
{
        guint refused[8], not_4;
        int n = 0;

        (void)rules;
        add(program, BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_6, BPF_REG_1, 0, 0);
        load(program, BPF_REG_7, offsetof(struct __sk_buff, ifindex));
        refused[n++] = copy_packet(program, 0, 0, IP4_HEAD);
        load_copy(program, BPF_B, 0);
        not_4 = unless(program, BPF_REG_0, IP4_FIRST);
        check_4(program, refused, &n);
        land(program, &not_4, 1);
        check_6(program, refused, &n);
        land(program, refused, n);
        answer(program, 0);
}

static const struct {
        enum bpf_prog_type type;
        enum bpf_attach_type hook;
        void (*make)(Program *program, const GArray *rules);
} hooks[] = {
        { BPF_PROG_TYPE_CGROUP_SOCK, BPF_CGROUP_INET_SOCK_CREATE, make_sockets },
        { BPF_PROG_TYPE_CGROUP_SOCK_ADDR, BPF_CGROUP_INET4_CONNECT, make_4 },
        { BPF_PROG_TYPE_CGROUP_SOCK_ADDR, BPF_CGROUP_INET6_CONNECT, make_6 },
        { BPF_PROG_TYPE_CGROUP_SOCK_ADDR, BPF_CGROUP_UDP4_SENDMSG, make_4 },
        { BPF_PROG_TYPE_CGROUP_SOCK_ADDR, BPF_CGROUP_UDP6_SENDMSG, make_6 },
        { BPF_PROG_TYPE_CGROUP_SKB, BPF_CGROUP_INET_EGRESS, make_packets },
};

static int call(int what, union bpf_attr *attributes)
{
        return (int)syscall(SYS_bpf, what, attributes, sizeof *attributes);
}

static bool attach(int group, gsize i, const GArray *rules)
{
        g_autofree Program *program = g_new0(Program, 1);
        union bpf_attr loading = { .prog_type = hooks[i].type, .expected_attach_type = hooks[i].hook };
        union bpf_attr attaching = { .attach_type = hooks[i].hook };
        fd_auto int fd = -1;

        hooks[i].make(program, rules);
        loading.insns = (guint64)(guintptr)program->at;
        loading.insn_cnt = program->n;
        loading.license = (guint64)(guintptr) "GPL";
        fd = call(BPF_PROG_LOAD, &loading);
        attaching.target_fd = (guint32)group;
        attaching.attach_bpf_fd = (guint32)fd;
        return fd >= 0 && call(BPF_PROG_ATTACH, &attaching) == 0; /* replaces an earlier one */
}

static void detach_all(int group)
{
        for (gsize i = 0; i < G_N_ELEMENTS(hooks); i++) {
                union bpf_attr attributes = { .attach_type = hooks[i].hook };

                attributes.target_fd = (guint32)group;
                (void)call(BPF_PROG_DETACH, &attributes); /* usually there is none */
        }
}

/* ---- the group ---- */

/* The mount point of version 2, or NULL; the caller's. */
static char *find_mount(const char *mounts)
{
        g_autofree char *text = NULL;
        g_auto(GStrv) lines = NULL;

        if (!file_read(mounts, MOUNTS_MAX, &text, NULL, NULL))
                return NULL;
        lines = g_strsplit(text, "\n", -1);
        for (char **line = lines; *line; line++) {
                const char *rest = strstr(*line, " - cgroup2 ");
                g_auto(GStrv) words = rest ? g_strsplit(*line, " ", 6) : NULL;

                if (words && g_strv_length(words) == 6)
                        return g_strcompress(words[4]);
        }
        return NULL;
}

/* The group above all slots, if they are of version 2. */
static char *group_of_slots(CgroupPool *pool, const char *id)
{
        Slot slot;

        cgroup_pool_slot(pool, 0, &slot);
        for (int i = 0; i < SLOT_CONTROLLERS; i++) {
                const char *at = slot.dir[i] && slot.v2 & (1u << i) ? strstr(slot.dir[i], id) : NULL;

                if (at)
                        return g_strndup(slot.dir[i], (gsize)(at - slot.dir[i]) + strlen(id));
        }
        return NULL;
}

/* A group for this purpose alone, if slots are of version 1. */
static char *own_group(const char *mounts, const char *id)
{
        g_autofree char *mount = find_mount(mounts);
        char *dir = mount ? g_build_filename(mount, id, "egress", NULL) : NULL;

        if (dir && g_mkdir_with_parents(dir, 0755) < 0)
                g_clear_pointer(&dir, g_free);
        return dir;
}

bool egress_apply(CgroupPool *pool, const char *mounts, const char *id, const json_t *rules, char **ret_dir,
                  GError **error)
{
        g_autoptr(GArray) list = g_array_new(FALSE, FALSE, sizeof(Rule));
        g_autofree char *above = group_of_slots(pool, id), *own = NULL;
        fd_auto int group = -1;

        *ret_dir = NULL;
        if (!read_rules(rules, list, error))
                return false;
        if (!above)
                own = own_group(mounts, id);
        group = above || own ? open(above ? above : own, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
        if (!rules) {
                if (group >= 0)
                        detach_all(group);
                return true;
        }
        if (group < 0)
                return err_set(
                        error, ERR_UNAVAILABLE,
                        "what members may connect to cannot be limited: this machine has no cgroup of version 2 that the agent may use");
        add_built_in(list);
        for (gsize i = 0; i < G_N_ELEMENTS(hooks); i++)
                if (!attach(group, i, list))
                        return err_set_errno(
                                error, errno,
                                "what members may connect to cannot be limited: the kernel refuses a BPF program for the cgroup '%s'",
                                above ? above : own);
        *ret_dir = g_steal_pointer(&own);
        return true;
}
