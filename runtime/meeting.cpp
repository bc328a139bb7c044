// SPDX-License-Identifier: Apache-2.0
#include "runtime/meeting.hpp"

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace cybele::runtime {
namespace {

constexpr int kMostAttempts = 1000;     // each after the end of a first start
constexpr long kLongestMaking = 600;    // seconds: unpacking of a large image
constexpr long kLongestAsking = 5;      // seconds
constexpr std::size_t kMostKey = 65536; // bytes; fits the kernel's buffer of a socket
constexpr std::size_t kMostDescriptors = 2;
constexpr char kWelcome = 'j';
constexpr char kOther = 'n';

/// FNV-1a; the whole key is compared later.
std::string short_name(const std::string& text) {
    constexpr std::uint64_t kBasis = 0xcbf29ce484222325U;
    constexpr std::uint64_t kPrime = 0x100000001b3U;
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::uint64_t sum = kBasis;
    for (const char c : text) {
        sum = (sum ^ static_cast<unsigned char>(c)) * kPrime;
    }
    std::string name;
    for (int shift = 60; shift >= 0; shift -= 4) {
        name += kDigits[(sum >> static_cast<unsigned>(shift)) & 0xfU];
    }
    return name;
}

void limit_waiting(int connection, long seconds) {
    const timeval limit = {seconds, 0};
    (void)setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

/// The process at the other end, if it is this user's and can be seen from here; else 0.
pid_t peer_of(int connection) {
    ucred peer = {};
    socklen_t size = sizeof peer;
    const bool is_known = getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
    return is_known && peer.uid == geteuid() ? peer.pid : 0;
}

/// Room for a message with descriptors.
struct Letter {
    char word = 0;
    iovec part = {&word, 1};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostDescriptors * sizeof(int))> control = {};
    msghdr header = {};

    Letter() {
        header.msg_iov = &part;
        header.msg_iovlen = 1;
        header.msg_control = control.data();
        header.msg_controllen = control.size();
    }
};

/// The descriptors that came with a letter, in their order.
std::array<UniqueFd, kMostDescriptors> descriptors_of(Letter& letter) {
    std::array<UniqueFd, kMostDescriptors> found;
    const cmsghdr* head = CMSG_FIRSTHDR(&letter.header);
    if (head == nullptr || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) {
        return found;
    }
    const std::size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count && i < found.size(); ++i) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(head) + i * sizeof fd, sizeof fd);
        found.at(i).reset(fd);
    }
    return found;
}

enum class Answer { kLetIn, kRefused, kGone };

Answer ask(int connection, const std::string& key, namespaces::ContainerNamespaces& container) {
    if (peer_of(connection) == 0) {
        return Answer::kRefused;
    }
    limit_waiting(connection, kLongestMaking);
    if (send(connection, key.data(), key.size(), MSG_NOSIGNAL) < 0) {
        return errno == EPIPE || errno == ECONNRESET ? Answer::kGone : Answer::kRefused;
    }
    Letter letter;
    ssize_t size = 0;
    do {
        size = recvmsg(connection, &letter.header, MSG_CMSG_CLOEXEC);
    } while (size < 0 && errno == EINTR);
    if (size <= 0) {
        return size == 0 || errno == ECONNRESET ? Answer::kGone : Answer::kRefused;
    }
    auto descriptors = descriptors_of(letter);
    if (letter.word != kWelcome || !descriptors[0].valid()) {
        return Answer::kRefused;
    }
    container.mount = std::move(descriptors[0]);
    container.user = std::move(descriptors[1]);
    return Answer::kLetIn;
}

/// With the lock: connects after all, or listens.
Result<UniqueFd>
listen_unless_connected(const StateFolder& folder, const std::string& name, UniqueFd& connection) {
    connection = folder.connect(name);
    if (connection.valid()) {
        return UniqueFd();
    }
    folder.sweep();
    return folder.listen(name);
}

} // namespace

MeetingKey meeting_key(std::string text) {
    std::string name = short_name(text);
    return {std::move(text), std::move(name)};
}

Meeting meet(const Environment& environment, MeetingKey key) {
    Meeting meeting;
    if (key.text.size() > kMostKey) {
        meeting.because = "the options of the container are too long to be compared";
        return meeting;
    }
    for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
        auto folder = StateFolder::open(environment);
        if (!folder) {
            const Fault& fault = folder.error().faults().front();
            meeting.because = fault.message + ": " + fault.because;
            return meeting;
        }
        UniqueFd connection = folder->connect(key.name);
        if (!connection.valid()) {
            if (!folder->lock()) {
                continue;
            }
            auto listener = listen_unless_connected(*folder, key.name, connection);
            folder->unlock();
            if (!listener) {
                meeting.because = listener.error().message();
                return meeting;
            }
            if (listener->valid()) {
                meeting.founding =
                    Founding{std::move(*folder), std::move(*listener), std::move(key)};
                return meeting;
            }
        }
        namespaces::ContainerNamespaces container;
        const Answer answer = ask(connection.get(), key.text, container);
        if (answer == Answer::kLetIn) {
            meeting.container = std::move(container);
            return meeting;
        }
        if (answer == Answer::kRefused) {
            meeting.because = "the process that holds the container did not let this one in";
            return meeting;
        }
    }
    meeting.because = "the first process ended again and again";
    return meeting;
}

pid_t admit(const Founding& founding,
            const namespaces::ContainerNamespaces& container,
            const UniqueFd& connection) {
    limit_waiting(connection.get(), kLongestAsking);
    const pid_t member = peer_of(connection.get());
    std::string asked(kMostKey + 1, '\0');
    ssize_t size = 0;
    do {
        size = recv(connection.get(), asked.data(), asked.size(), 0);
    } while (size < 0 && errno == EINTR);
    asked.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    const bool is_welcome = member > 0 && asked == founding.key.text;

    Letter letter;
    letter.word = is_welcome ? kWelcome : kOther;
    letter.header.msg_control = nullptr;
    letter.header.msg_controllen = 0;
    if (is_welcome) {
        const std::array<int, kMostDescriptors> sent = {container.mount.get(),
                                                        container.user.get()};
        const std::size_t bytes = (container.user.valid() ? 2 : 1) * sizeof(int);
        letter.header.msg_control = letter.control.data();
        letter.header.msg_controllen = CMSG_SPACE(bytes);
        cmsghdr* head = CMSG_FIRSTHDR(&letter.header);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(bytes);
        std::memcpy(CMSG_DATA(head), sent.data(), bytes);
    }
    const bool is_sent = sendmsg(connection.get(), &letter.header, MSG_NOSIGNAL) == 1;
    return is_welcome && is_sent ? member : 0;
}

} // namespace cybele::runtime
