// SPDX-License-Identifier: Apache-2.0
#include "runtime/containers/state_folder.hpp"

#include "runtime/namespaces/system_calls.hpp"
#include "support/directory.hpp"
#include "support/lock.hpp"
#include "support/quote.hpp"

#include <cerrno>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace cybele::runtime {
namespace {

constexpr int kMostWaiting = 4096;         // a node's ranks; the kernel caps it by somaxconn
constexpr const char* kTemporary = "/tmp"; // the same for all ranks, whatever TMPDIR says

/// By descriptor, so that no link is followed and any length fits.
sockaddr_un address_of(int folder, const std::string& name) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    const std::string path = namespaces::descriptor_path(folder) + '/' + name;
    (void)path.copy(static_cast<char*>(address.sun_path), sizeof address.sun_path - 1);
    return address;
}

const sockaddr* plain(const sockaddr_un& address) {
    return reinterpret_cast<const sockaddr*>(&address);
}

UniqueFd new_socket(int flags = 0) {
    return UniqueFd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0));
}

/// True if nobody will ever answer there.
bool is_dead(int folder, const std::string& name) {
    const UniqueFd made = new_socket(SOCK_NONBLOCK); // a long queue is life too
    const sockaddr_un address = address_of(folder, name);
    return made.valid() && connect(made.get(), plain(address), sizeof address) != 0 &&
           errno == ECONNREFUSED;
}

} // namespace

Result<StateFolder> StateFolder::open_in(const std::string& parent, std::string name) {
    UniqueFd above(::open(parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!above.valid() || (mkdirat(above.get(), name.c_str(), 0700) != 0 && errno != EEXIST)) {
        return fail(system_error("cannot make a folder in '" + printable(parent) + "'", errno));
    }
    UniqueFd fd(openat(above.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat status = {};
    if (!fd.valid() || fstat(fd.get(), &status) != 0 || status.st_uid != geteuid() ||
        (status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        return fail(ErrorCode::kVerification,
                    problem("state-folder-not-private",
                            "'" + printable(parent) + '/' + name + "' is not private"),
                    "it belongs to another user, or others may enter it",
                    "remove it");
    }
    return StateFolder(std::move(above), std::move(fd), std::move(name));
}

Result<StateFolder> StateFolder::open(const Environment& environment) {
    if (const auto runtime = environment.get_absolute("XDG_RUNTIME_DIR")) {
        if (auto folder = open_in(*runtime, "cybelectl")) {
            return folder;
        }
    }
    return open_in(kTemporary, "cybelectl-" + std::to_string(geteuid()));
}

bool StateFolder::lock() const {
    struct stat status = {};
    if (take_lock(fd(), LOCK_EX) && fstat(fd(), &status) == 0 && status.st_nlink > 0) {
        return true;
    }
    unlock();
    return false;
}

void StateFolder::unlock() const {
    (void)flock(fd(), LOCK_UN);
}

void StateFolder::remove_if_empty() const {
    (void)unlinkat(parent(), name_.c_str(), AT_REMOVEDIR);
}

UniqueFd StateFolder::connect(const std::string& name) const {
    UniqueFd made = new_socket();
    const sockaddr_un address = address_of(fd(), name);
    if (made.valid() && ::connect(made.get(), plain(address), sizeof address) != 0) {
        made.reset();
    }
    return made;
}

Result<UniqueFd> StateFolder::listen(const std::string& name) const {
    UniqueFd made = new_socket();
    const sockaddr_un address = address_of(fd(), name);
    if (!made.valid() || bind(made.get(), plain(address), sizeof address) != 0 ||
        ::listen(made.get(), kMostWaiting) != 0) {
        return fail(system_error("cannot make a socket for the other ranks", errno));
    }
    return made;
}

void StateFolder::sweep() const {
    const auto names = names_in(fd(), {}).value_or(std::vector<std::string>());
    for (const std::string& name : names) {
        if (is_dead(fd(), name)) {
            (void)unlinkat(fd(), name.c_str(), 0);
        }
    }
}

} // namespace cybele::runtime
