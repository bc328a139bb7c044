// SPDX-License-Identifier: Apache-2.0
#include "namespaces/descriptors.hpp"
#include "namespaces/squashfs_mount.hpp"
#include "namespaces/system_calls.hpp"
#include "support/file.hpp"
#include "support/process.hpp"

#include <array>
#include <cerrno>
#include <string>

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cybele::namespaces {
namespace {

constexpr int kImageFd = 3; // in the server
constexpr int kDeviceFd = 4;
constexpr std::size_t kWords = 6;

/// The descriptors of the server: none of the caller's, whose pipes and sockets would stay open.
bool take_descriptors(int image, int device) {
    const int kept_image = fcntl(image, F_DUPFD_CLOEXEC, 10);
    const int kept_device = fcntl(device, F_DUPFD_CLOEXEC, 10);
    const bool ok = kept_image >= 0 && kept_device >= 0 && dup2(kept_image, kImageFd) == kImageFd &&
                    dup2(kept_device, kDeviceFd) == kDeviceFd;
    keep_only({kImageFd, kDeviceFd});
    return ok;
}

/// Takes the mount away that this process serves, in its own namespace. Only the name of the mount
/// is looked up: to enter its root would ask the server, who is this process.
bool forget_mount(const SquashfsPoint& point) {
    return fchdir(point.folder) == 0 && unshare(CLONE_NEWNS) == 0 &&
           umount2(point.is_folder_ours ? "." : point.name, MNT_DETACH) == 0 && chdir("/") == 0;
}

[[noreturn]] void be_server(const SquashfsPoint& point,
                            int image,
                            int device,
                            const std::array<std::string, kWords>& words) {
    setsid(); // a terminal's interrupt is for the program
    // Without the mount in its own namespace, or the server would keep alive what it serves. The
    // working directory moves into the new namespace with us; descriptors do not.
    if (!forget_mount(point) || !take_descriptors(image, device)) {
        _exit(1);
    }
    std::array<char*, kWords + 1> arguments = {};
    for (std::size_t i = 0; i < words.size(); ++i) {
        arguments.at(i) = const_cast<char*>(words.at(i).c_str());
    }
    std::array<char*, 1> environment = {nullptr};
    execve(words.front().c_str(), arguments.data(), environment.data());
    _exit(1);
}

} // namespace

std::optional<std::filesystem::path> find_squashfs_server(const std::string& search_path) {
    if (auto found = find_program("squashfuse_ll", search_path)) {
        return found;
    }
    return find_program("squashfuse_ll", "/usr/local/bin:/usr/bin:/bin:/usr/libexec/apptainer/bin");
}

Result<void> mount_squashfs_by_fuse(const SquashfsPart& part,
                                    const SquashfsPoint& point,
                                    const std::filesystem::path& server) {
    UniqueFd device(open("/dev/fuse", O_RDWR | O_CLOEXEC));
    if (!device.valid()) {
        return fail(system_error("cannot open /dev/fuse", errno));
    }
    const std::string options = "fd=" + std::to_string(device.get()) +
                                ",rootmode=40000,user_id=" + std::to_string(geteuid()) +
                                ",group_id=" + std::to_string(getegid()) + ",allow_other";
    const unsigned long flags = MS_RDONLY | MS_NOSUID | MS_NODEV;
    if (fchdir(point.folder) != 0 ||
        mount("cybelectl", point.name, "fuse.squashfuse_ll", flags, options.c_str()) != 0) {
        return fail(system_error("cannot mount by FUSE", errno));
    }
    const UniqueFd root(openat(point.folder, point.name, O_PATH | O_DIRECTORY | O_CLOEXEC));
    // All that needs memory is made before the server is.
    const std::array<std::string, kWords> words = {server.string(),
                                                   "-f",
                                                   "-o",
                                                   "offset=" + std::to_string(part.offset),
                                                   namespaces::descriptor_path(kImageFd),
                                                   "/dev/fd/" + std::to_string(kDeviceFd)};
    // In the memory of this process, which they leave as it is: a copy costs 0.3 ms, twice, and
    // there is nothing to do here before the server answers.
    const pid_t middle = vfork();
    if (middle == 0) {
        // The server is no child of the program, which may wait for all of its own.
        if (vfork() == 0) {
            be_server(point, part.fd, device.get(), words);
        }
        _exit(0);
    }
    if (middle < 0 || wait_for(middle) != 0) {
        return fail(system_error("cannot start squashfuse_ll", errno));
    }
    device.reset(); // when the server dies now, requests fail instead of waiting
    struct stat status = {};
    if (fstatat(root.get(), "dev", &status, AT_SYMLINK_NOFOLLOW) != 0 && errno != ENOENT) {
        const int saved_errno = errno;
        (void)umount2(point.name, MNT_DETACH);
        return fail(system_error("squashfuse_ll does not serve the image", saved_errno));
    }
    return {};
}

} // namespace cybele::namespaces
