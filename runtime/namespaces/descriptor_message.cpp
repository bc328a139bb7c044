// SPDX-License-Identifier: Apache-2.0
#include "runtime/namespaces/descriptor_message.hpp"

#include <cerrno>
#include <cstring>

#include <sys/socket.h>

namespace cybele::namespaces {
namespace {

/// Room for a message with descriptors.
struct Envelope {
    char word = 0;
    iovec part = {&word, 1};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostDescriptors * sizeof(int))> control = {};
    msghdr header = {};

    Envelope() {
        header.msg_iov = &part;
        header.msg_iovlen = 1;
    }
};

} // namespace

bool send_message(int socket, char word, std::span<const int> descriptors) {
    Envelope envelope;
    envelope.word = word;
    if (!descriptors.empty()) {
        envelope.header.msg_control = envelope.control.data();
        envelope.header.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
        cmsghdr* head = CMSG_FIRSTHDR(&envelope.header);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(descriptors.size_bytes());
        std::memcpy(CMSG_DATA(head), descriptors.data(), descriptors.size_bytes());
    }
    return sendmsg(socket, &envelope.header, MSG_NOSIGNAL) == 1;
}

ssize_t receive_message(int socket, DescriptorMessage& message) {
    Envelope envelope;
    envelope.header.msg_control = envelope.control.data();
    envelope.header.msg_controllen = envelope.control.size();
    ssize_t size = 0;
    do {
        size = recvmsg(socket, &envelope.header, MSG_CMSG_CLOEXEC);
    } while (size < 0 && errno == EINTR);
    message.word = envelope.word;
    const cmsghdr* head = size > 0 ? CMSG_FIRSTHDR(&envelope.header) : nullptr;
    if (head != nullptr && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS) {
        const std::size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i < count && i < message.descriptors.size(); ++i) {
            int fd = -1;
            std::memcpy(&fd, CMSG_DATA(head) + i * sizeof fd, sizeof fd);
            message.descriptors.at(i).reset(fd);
        }
    }
    return size;
}

} // namespace cybele::namespaces
