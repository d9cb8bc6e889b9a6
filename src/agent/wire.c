/* Sending on the socket between agent and spawner (see wire.h). No GLib: both are linked with it. */
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
