// SPDX-License-Identifier: Apache-2.0
#include "namespaces/system_calls.hpp"
#include "runtime/mount_image.hpp"
#include "support/process.hpp"

#include <array>
#include <cerrno>
#include <string>

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cybele::runtime {
namespace {

constexpr int kImageFd = 3; // in the server
constexpr int kDeviceFd = 4;
constexpr std::size_t kWords = 6;

/// Closes all from `first` on, whatever the limit of open files is.
void close_from(int first) {
    DIR* list = opendir("/proc/self/fd");
    if (list == nullptr) {
        for (int fd = first; fd < 1024; ++fd) {
            close(fd);
        }
        return;
    }
    std::array<bool, 65536> is_open = {};
    while (const dirent* entry = readdir(list)) {
        const int fd = std::atoi(static_cast<const char*>(entry->d_name));
        if (fd >= first && static_cast<std::size_t>(fd) < is_open.size()) {
            is_open.at(static_cast<std::size_t>(fd)) = true;
        }
    }
    closedir(list);
    for (std::size_t fd = 0; fd < is_open.size(); ++fd) {
        if (is_open.at(fd)) {
            close(static_cast<int>(fd));
        }
    }
}

/// The descriptors of the server: none of the caller's, whose pipes and sockets would stay open.
bool take_descriptors(int image, int device) {
    const int kept_image = fcntl(image, F_DUPFD_CLOEXEC, 10);
    const int kept_device = fcntl(device, F_DUPFD_CLOEXEC, 10);
    const int null = open("/dev/null", O_RDWR);
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (null < 0) {
            close(stream);
        } else {
            dup2(null, stream);
        }
    }
    const bool ok = kept_image >= 0 && kept_device >= 0 && dup2(kept_image, kImageFd) == kImageFd &&
                    dup2(kept_device, kDeviceFd) == kDeviceFd;
    close_from(kDeviceFd + 1);
    return ok;
}

[[noreturn]] void
be_server(const Stage& stage, int image, int device, const std::array<std::string, kWords>& words) {
    setsid(); // a terminal's interrupt is for the program
    // Without the mount in its own namespace, or the server would keep alive what it serves. The
    // working directory moves into the new namespace with us; descriptors do not.
    if (fchdir(stage.fd()) != 0 || unshare(CLONE_NEWNS) != 0 || umount2(".", MNT_DETACH) != 0 ||
        chdir("/") != 0 || !take_descriptors(image, device)) {
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

std::optional<std::filesystem::path> find_fuse_server(const Environment& environment) {
    const std::string path = environment.get_or("PATH", "");
    if (auto found = find_program("squashfuse_ll", path)) {
        return found;
    }
    return find_program("squashfuse_ll", "/usr/local/bin:/usr/bin:/bin:/usr/libexec/apptainer/bin");
}

Result<UniqueFd>
mount_by_fuse(const Stage& stage, const ImageFile& image, const std::filesystem::path& server) {
    UniqueFd device(open("/dev/fuse", O_RDWR | O_CLOEXEC));
    if (!device.valid()) {
        return fail(system_error("cannot open /dev/fuse", errno));
    }
    CYBELE_CHECK(stage.make_directory("image"));
    const std::string options = "fd=" + std::to_string(device.get()) +
                                ",rootmode=40000,user_id=" + std::to_string(geteuid()) +
                                ",group_id=" + std::to_string(getegid()) + ",allow_other";
    const unsigned long flags = MS_RDONLY | MS_NOSUID | MS_NODEV;
    if (fchdir(stage.fd()) != 0 ||
        mount("cybelectl", "image", "fuse.squashfuse_ll", flags, options.c_str()) != 0) {
        return fail(system_error("cannot mount by FUSE", errno));
    }
    // All that needs memory is made before the fork.
    const std::array<std::string, kWords> words = {server.string(),
                                                   "-f",
                                                   "-o",
                                                   "offset=" + std::to_string(image.offset),
                                                   namespaces::descriptor_path(kImageFd),
                                                   "/dev/fd/" + std::to_string(kDeviceFd)};
    const pid_t middle = fork();
    if (middle == 0) {
        // The server is no child of the program, which may wait for all of its own.
        if (fork() == 0) {
            be_server(stage, image.fd.get(), device.get(), words);
        }
        _exit(0);
    }
    if (middle < 0 || wait_for(middle) != 0) {
        return fail(system_error("cannot start squashfuse_ll", errno));
    }
    device.reset(); // when the server dies now, requests fail instead of waiting
    CYBELE_TRY(UniqueFd root, stage.open("image"));
    struct stat status = {};
    if (fstatat(root.get(), "dev", &status, AT_SYMLINK_NOFOLLOW) != 0 && errno != ENOENT) {
        return fail(system_error("squashfuse_ll does not serve the image", errno));
    }
    return root;
}

} // namespace cybele::runtime
