/* Messages with descriptors (see wire.h). The spawner links this, so it does not use GLib. */
#include "agent/wire.h"

#include <string.h>
#include <sys/socket.h>

bool wire_send(int socket, const void *data, size_t len, int fd, int flags)
{
        struct iovec part = { (void *)data, len };
        union {
                char bytes[CMSG_SPACE(sizeof(int))];
                struct cmsghdr align;
        } control = { 0 };
        struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

        if (fd >= 0) {
                struct cmsghdr *header;

                message.msg_control = control.bytes;
                message.msg_controllen = sizeof control.bytes;
                header = CMSG_FIRSTHDR(&message);
                header->cmsg_level = SOL_SOCKET;
                header->cmsg_type = SCM_RIGHTS;
                header->cmsg_len = CMSG_LEN(sizeof(int));
                memcpy(CMSG_DATA(header), &fd, sizeof fd);
        }
        return sendmsg(socket, &message, MSG_NOSIGNAL | flags) >= 0;
}

ssize_t wire_receive(int socket, void *memory, size_t size, int *ret_fd, int flags)
{
        struct iovec part = { memory, size };
        union {
                char bytes[CMSG_SPACE(sizeof(int))];
                struct cmsghdr align;
        } control;
        struct msghdr message = {
                .msg_iov = &part,
                .msg_iovlen = 1,
                .msg_control = control.bytes,
                .msg_controllen = sizeof control.bytes,
        };
        ssize_t got = recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);

        *ret_fd = -1;
        if (got < 0)
                return got;
        for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header))
                if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS)
                        memcpy(ret_fd, CMSG_DATA(header), sizeof *ret_fd);
        return got;
}
