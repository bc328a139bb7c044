// SPDX-License-Identifier: Apache-2.0
#include "runtime/namespaces/descriptor_message.hpp"
#include "runtime/namespaces/squashfs_mount.hpp"
#include "runtime/namespaces/squashfs_server.hpp"
#include "runtime/namespaces/stay_behind.hpp"
#include "runtime/namespaces/system_calls.hpp"
#include "support/process.hpp"

#include <array>
#include <cerrno>
#include <fstream>
#include <string>

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

namespace cybele::namespaces {
namespace {

constexpr char kApart = 'a';   // the server sees no mount that is made from now on
constexpr char kMounted = 'm'; // the server may answer; with /dev/fuse

/// The server must not have the mount in its own namespace: it would keep alive what it serves.
[[noreturn]] void be_server(const Served& served, SquashfsServer::Mounts mounts) {
    stay_behind("cybelectl-fuse", {served.image, served.gate});
    if (mounts == SquashfsServer::Mounts::kShared &&
        (unshare(CLONE_NEWNS) != 0 || !send_message(served.gate, kApart, {}))) {
        _exit(1);
    }
    serve_squashfs(served);
}

/// Whether this user namespace has a single id.
bool has_one_id() {
    std::ifstream map("/proc/self/uid_map");
    unsigned long inside = 0;
    unsigned long outside = 0;
    unsigned long count = 0;
    return (map >> inside >> outside >> count) && count == 1 && !(map >> inside);
}

/// The server is no child of the program, which may wait for all of its own. What stands between
/// them lives in the memory of this process, which it leaves as it is: a copy costs 0.3 ms.
bool start_apart(const Served& served, SquashfsServer::Mounts mounts) {
    const pid_t middle = vfork();
    if (middle == 0) {
        const pid_t server = fork();
        if (server == 0) {
            be_server(served, mounts);
        }
        _exit(server > 0 ? 0 : 1);
    }
    return middle > 0 && wait_for(middle) == 0;
}

} // namespace

Result<SquashfsServer> SquashfsServer::start(const SquashfsPart& part, Mounts mounts) {
    if (access("/dev/fuse", R_OK | W_OK) != 0) {
        return fail(system_error("cannot open /dev/fuse", errno));
    }
    std::array<int, 2> ends = {};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
        return fail(system_error("cannot make a pair of sockets", errno));
    }
    SquashfsServer server;
    server.mounts_ = mounts;
    server.gate_.reset(ends[0]);
    const UniqueFd other(ends[1]);
    // What is started before its namespaces are made is an ordinary user's, who will have one id.
    const bool has_one_owner = mounts == Mounts::kOther || has_one_id();
    if (!start_apart({part.fd, part.offset, other.get(), kMounted, has_one_owner}, mounts)) {
        return fail(system_error("cannot start a process", errno));
    }
    return server;
}

Result<void> SquashfsServer::mount(const SquashfsPoint& point) {
    DescriptorMessage apart;
    if (mounts_ == Mounts::kShared &&
        (receive_message(gate_.get(), apart) != 1 || apart.word != kApart)) {
        return fail(ErrorCode::kEnvironment,
                    problem("squashfs-reader-not-started",
                            "the process that reads the squashfs did not start"));
    }
    // Now: the kernel wants it opened in the user namespace of the mount.
    UniqueFd device(open("/dev/fuse", O_RDWR | O_CLOEXEC));
    if (!device.valid()) {
        return fail(system_error("cannot open /dev/fuse", errno));
    }
    const std::string options = "fd=" + std::to_string(device.get()) +
                                ",rootmode=40000,user_id=" + std::to_string(geteuid()) +
                                ",group_id=" + std::to_string(getegid()) +
                                ",allow_other,default_permissions";
    const unsigned long flags = MS_RDONLY | MS_NOSUID | MS_NODEV;
    if (fchdir(point.folder) != 0 ||
        ::mount("cybelectl", point.name, "fuse.squashfs", flags, options.c_str()) != 0) {
        return fail(system_error("cannot mount by FUSE", errno));
    }
    auto answered = wait_for_answer(point, std::move(device));
    if (!answered) {
        (void)umount2(point.name, MNT_DETACH);
    }
    return answered;
}

namespace {

/// Asks for the first names in a folder, with which the server tells what a lookup of each would.
bool begin_to_list(UniqueFd folder) {
    DIR* const list = folder.valid() ? fdopendir(folder.get()) : nullptr;
    if (list == nullptr) {
        return false;
    }
    (void)folder.release(); // now the list's
    errno = 0;
    const bool is_read =
        readdir(list) != nullptr || errno == 0; // NOLINT(concurrency-mt-unsafe): own
    const int saved_errno = errno;
    (void)closedir(list);
    errno = saved_errno;
    return is_read;
}

} // namespace

Result<void> SquashfsServer::wait_for_answer(const SquashfsPoint& point, UniqueFd device) {
    const UniqueFd root(openat(point.folder, point.name, O_PATH | O_DIRECTORY | O_CLOEXEC));
    const int sent = device.get();
    const bool is_sent = send_message(gate_.get(), kMounted, {&sent, 1});
    // When the server dies now, requests fail instead of waiting.
    gate_.reset();
    device.reset();
    // The root's names are what a start asks for first, one by one.
    if (!is_sent ||
        !begin_to_list(UniqueFd(openat(root.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)))) {
        return fail(system_error("the squashfs cannot be read by FUSE", errno));
    }
    return {};
}

Result<void> mount_squashfs_by_fuse(const SquashfsPart& part, const SquashfsPoint& point) {
    CYBELE_TRY(SquashfsServer server,
               SquashfsServer::start(part, SquashfsServer::Mounts::kShared)
                   .map_error(during("mounting the file system of the image")));
    return server.mount(point);
}

} // namespace cybele::namespaces
