// SPDX-License-Identifier: Apache-2.0
#include "runtime/containers/rendezvous.hpp"

#include "runtime/namespaces/descriptor_message.hpp"

#include <cerrno>
#include <cstdint>
#include <utility>
#include <vector>

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace cybele::runtime {
namespace {

constexpr int kMostAttempts = 1000;     // each after the end of a first start
constexpr long kLongestMaking = 600;    // seconds: unpacking of a large image
constexpr long kLongestAsking = 5;      // seconds
constexpr std::size_t kMostKey = 65536; // bytes; fits the kernel's buffer of a socket
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

enum class Answer { kLetIn, kRefused, kGone };

Answer ask(int connection,
           const std::string& key,
           const std::function<void()>& meanwhile,
           namespaces::ContainerNamespaces& container) {
    if (peer_of(connection) == 0) {
        return Answer::kRefused;
    }
    limit_waiting(connection, kLongestMaking);
    if (send(connection, key.data(), key.size(), MSG_NOSIGNAL) < 0) {
        return errno == EPIPE || errno == ECONNRESET ? Answer::kGone : Answer::kRefused;
    }
    if (meanwhile) {
        meanwhile();
    }
    namespaces::DescriptorMessage message;
    const ssize_t size = namespaces::receive_message(connection, message);
    if (size <= 0) {
        return size == 0 || errno == ECONNRESET ? Answer::kGone : Answer::kRefused;
    }
    if (message.word != kWelcome || !message.descriptors[0].valid()) {
        return Answer::kRefused;
    }
    container.mount = std::move(message.descriptors[0]);
    container.user = std::move(message.descriptors[1]);
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

RendezvousKey meeting_key(std::string text) {
    std::string name = short_name(text);
    return {std::move(text), std::move(name)};
}

Rendezvous
meet(const Environment& environment, RendezvousKey key, const std::function<void()>& meanwhile) {
    Rendezvous rendezvous;
    if (key.text.size() > kMostKey) {
        rendezvous.because = "the options of the container are too long to be compared";
        return rendezvous;
    }
    for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
        auto folder = StateFolder::open(environment);
        if (!folder) {
            const Fault& fault = folder.error().faults().front();
            rendezvous.because = fault.message + ": " + fault.because;
            rendezvous.is_prevented = fault.code == ErrorCode::kVerification;
            return rendezvous;
        }
        UniqueFd connection = folder->connect(key.name);
        if (!connection.valid()) {
            if (!folder->lock()) {
                continue;
            }
            auto listener = listen_unless_connected(*folder, key.name, connection);
            folder->unlock();
            if (!listener) {
                rendezvous.because = listener.error().message();
                return rendezvous;
            }
            if (listener->valid()) {
                rendezvous.first_member =
                    FirstMember{std::move(*folder), std::move(*listener), std::move(key)};
                return rendezvous;
            }
        }
        namespaces::ContainerNamespaces container;
        const Answer answer = ask(connection.get(), key.text, meanwhile, container);
        if (answer == Answer::kLetIn) {
            rendezvous.container = std::move(container);
            return rendezvous;
        }
        if (answer == Answer::kRefused) {
            rendezvous.because = "the process that holds the container did not let this one in";
            return rendezvous;
        }
    }
    rendezvous.because = "the first process ended again and again";
    return rendezvous;
}

pid_t admit(const FirstMember& first_member,
            const namespaces::ContainerNamespaces& container,
            const UniqueFd& connection) {
    limit_waiting(connection.get(), kLongestAsking);
    const pid_t member = peer_of(connection.get());
    std::string asked(first_member.key.text.size() + 1, '\0'); // one more: a longer one differs
    ssize_t size = 0;
    do {
        size = recv(connection.get(), asked.data(), asked.size(), 0);
    } while (size < 0 && errno == EINTR);
    asked.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    const bool is_welcome = member > 0 && asked == first_member.key.text;

    std::vector<int> sent;
    if (is_welcome) {
        sent.push_back(container.mount.get());
        if (container.user.valid()) {
            sent.push_back(container.user.get());
        }
    }
    const bool is_sent =
        namespaces::send_message(connection.get(), is_welcome ? kWelcome : kOther, sent);
    return is_welcome && is_sent ? member : 0;
}

} // namespace cybele::runtime
