// SPDX-License-Identifier: Apache-2.0
#include "runtime/containers/extended_file.hpp"

#include "runtime/namespaces/fuse_program.hpp"
#include "runtime/namespaces/system_calls.hpp"
#include "support/process.hpp"
#include "support/quote.hpp"

#include <array>
#include <cerrno>
#include <fstream>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace cybele::runtime {
namespace {

constexpr off_t kMagicAt = 1024 + 56; // of the superblock
constexpr int kLockTries = 600;       // of 10 ms: the server of the start before writes its rest
constexpr useconds_t kBetweenLocks = 10000;

/// Where users look for programs, and where the system's are.
std::optional<std::filesystem::path> find_fuse_program(const char* name) {
    auto found = find_program(name);
    return found ? found : find_program(name, "/usr/bin:/usr/sbin:/bin:/sbin:/usr/local/bin");
}

Result<std::filesystem::path> need_fuse_program(const char* name, const char* package) {
    if (const auto found = find_fuse_program(name)) {
        return *found;
    }
    return fail(ErrorCode::kEnvironment,
                problem("fuse-program-missing", std::string(name) + " is not installed"),
                std::string("an ext3 file is mounted by ") + name + ", not by the kernel",
                std::string("install ") + package + ", or use a directory: --overlay DIR");
}

/// With one id in this namespace, every file is its owner's. A range has a second line.
bool has_single_id() {
    std::ifstream map("/proc/self/uid_map");
    unsigned long inside = 0;
    unsigned long outside = 0;
    unsigned long count = 0;
    unsigned long ids = 0;
    while (map >> inside >> outside >> count) {
        ids += count;
    }
    return ids == 1;
}

} // namespace

bool is_extended(int fd, std::uint64_t offset) {
    std::array<unsigned char, 2> magic = {};
    return pread(fd, magic.data(), magic.size(), static_cast<off_t>(offset) + kMagicAt) == 2 &&
           magic[0] == 0x53 && magic[1] == 0xEF;
}

Result<UniqueFd> open_extended(const std::filesystem::path& path, bool is_writable) {
    UniqueFd fd(open(path.c_str(), (is_writable ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK));
    if (!fd.valid()) {
        const int saved_errno = errno;
        return fail(ErrorCode::kInput,
                    problem("overlay-unusable",
                            "cannot use '" + printable(path.string()) + "' as an overlay"),
                    system_error("", saved_errno).faults().front().because,
                    "write PATH:ro to read it only");
    }
    const int kind = (is_writable ? LOCK_EX : LOCK_SH) | LOCK_NB;
    for (int i = 0; flock(fd.get(), kind) != 0; ++i) {
        if (errno != EWOULDBLOCK || i == kLockTries) {
            return fail(
                ErrorCode::kInput,
                problem("overlay-in-use", "'" + printable(path.string()) + "' is in use")
                    .about(path.native()),
                "another container writes to it, and a file system has one writer",
                "end that container, or make an overlay of its own: apptainer overlay create");
        }
        (void)usleep(kBetweenLocks);
    }
    return fd;
}

Result<UniqueFd> mount_extended(const Stage& stage, const ExtendedPlace& place, const char* name) {
    CYBELE_TRY(const std::filesystem::path program, need_fuse_program("fuse2fs", "fuse2fs"));
    CYBELE_CHECK(stage.make_directory(name));
    std::string options = "fakeroot,allow_other";
    options += place.is_writable ? ",rw" : ",ro,norecovery";
    options += has_single_id() ? ",uid=0,gid=0" : "";
    options += place.offset == 0 ? "" : ",offset=" + std::to_string(place.offset);
    const namespaces::FuseProgram served{
        {program.native(), "-f", "-o", options, namespaces::descriptor_path(place.fd)}, {place.fd}};
    return namespaces::mount_by_program(served, stage.fd(), name);
}

Result<UniqueFd>
mount_overlay_by_program(const Stage& stage, const std::string& folders, const char* name) {
    CYBELE_TRY(const std::filesystem::path program,
               need_fuse_program("fuse-overlayfs", "fuse-overlayfs"));
    const namespaces::FuseProgram served{
        {program.native(), "-f", "-o", "allow_other,noacl," + folders}, {}};
    return namespaces::mount_by_program(served, stage.fd(), name);
}

bool has_overlay_program() {
    return find_fuse_program("fuse-overlayfs").has_value();
}

} // namespace cybele::runtime
