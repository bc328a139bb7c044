// SPDX-License-Identifier: Apache-2.0
#include "support/stamp.hpp"

#include "support/find.hpp"

#include <array>
#include <ctime>

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

namespace cybele {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kSettled = 2 * kSecond;
/// CONFIG_HZ is 100 or more.
constexpr std::int64_t kTick = 10'000'000;

/// statfs(2); those behind the line are in no header of the kernel's.
constexpr std::array<std::uint64_t, 9> kKeepChangeTimes = {
    EXT4_SUPER_MAGIC, // ext2 and ext3 too
    XFS_SUPER_MAGIC,
    BTRFS_SUPER_MAGIC,
    F2FS_SUPER_MAGIC,
    TMPFS_MAGIC,
    NFS_SUPER_MAGIC,
    //
    0x2FC12FC1, // ZFS
    0x0BD00BD0, // Lustre
    0x00C36400, // Ceph
};

std::int64_t nanoseconds(const timespec& time) {
    return time.tv_sec * kSecond + time.tv_nsec;
}

} // namespace

bool FileStamp::is_settled(std::int64_t now) const {
    return modified <= now - kSettled && changed <= now - kSettled;
}

bool FileStamp::has_fine_times() const {
    return changed % kSecond != 0;
}

std::optional<FileStamp> stamp_of(int fd) {
    struct stat status {};
    struct statfs system {};
    if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || ::fstatfs(fd, &system) != 0 ||
        !contains(kKeepChangeTimes, static_cast<std::uint64_t>(system.f_type))) {
        return std::nullopt;
    }
    return FileStamp{status.st_dev,
                     status.st_ino,
                     static_cast<std::uint64_t>(status.st_size),
                     nanoseconds(status.st_mtim),
                     nanoseconds(status.st_ctim)};
}

std::int64_t nanoseconds_now() {
    timespec now{};
    (void)::clock_gettime(CLOCK_REALTIME, &now);
    return nanoseconds(now);
}

void wait_for_next_tick() {
    timespec left{0, kTick};
    while (::nanosleep(&left, &left) != 0) {
    }
}

} // namespace cybele
