// SPDX-License-Identifier: Apache-2.0
#include "runtime/namespaces/squashfs_mount.hpp"
#include "support/file.hpp"

#include <cerrno>
#include <string>

#include <fcntl.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <unistd.h>

namespace cybele::namespaces {
namespace {

constexpr int kAttempts = 32; // another process may take the free device first
constexpr std::uint64_t kSector = 512;

int attach_in_two_steps(int device, int file, const loop_info64& info) {
    if (ioctl(device, LOOP_SET_FD, file) != 0) {
        return -1;
    }
    if (ioctl(device, LOOP_SET_STATUS64, &info) != 0) {
        const int saved_errno = errno;
        ioctl(device, LOOP_CLR_FD, 0);
        errno = saved_errno;
        return -1;
    }
    return 0;
}

int attach(int device, const SquashfsPart& image) {
    loop_config configuration = {};
    configuration.fd = static_cast<__u32>(image.fd);
    configuration.info.lo_offset = image.offset;
    configuration.info.lo_sizelimit = (image.size + kSector - 1) / kSector * kSector;
    configuration.info.lo_flags = LO_FLAGS_READ_ONLY | LO_FLAGS_AUTOCLEAR;
    // What losetup shows.
    (void)image.path.string().copy(reinterpret_cast<char*>(configuration.info.lo_file_name),
                                   LO_NAME_SIZE - 1);
    if (ioctl(device, LOOP_CONFIGURE, &configuration) == 0) {
        return 0;
    }
    // Before Linux 5.8.
    return errno == EINVAL || errno == ENOTTY || errno == ENOSYS
               ? attach_in_two_steps(device, image.fd, configuration.info)
               : -1;
}

struct Loop {
    UniqueFd fd;
    std::string path;
};

Result<Loop> attach_free_device(const SquashfsPart& image) {
    const UniqueFd control(open("/dev/loop-control", O_RDWR | O_CLOEXEC));
    if (!control.valid()) {
        return fail(system_error("cannot open /dev/loop-control", errno));
    }
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
        const int number = ioctl(control.get(), LOOP_CTL_GET_FREE);
        if (number < 0) {
            return fail(system_error("there is no free loop device", errno));
        }
        Loop loop;
        loop.path = "/dev/loop" + std::to_string(number);
        loop.fd.reset(open(loop.path.c_str(), O_RDONLY | O_CLOEXEC));
        if (!loop.fd.valid()) {
            return fail(system_error("cannot open " + loop.path, errno));
        }
        if (attach(loop.fd.get(), image) == 0) {
            return loop;
        }
        if (errno != EBUSY) {
            return fail(system_error("cannot attach the image to " + loop.path, errno));
        }
    }
    return fail(ErrorCode::kEnvironment,
                problem("loop-device-missing", "no loop device could be had"),
                "another process used each of them first");
}

} // namespace

Result<void> mount_squashfs_by_loop(const SquashfsPart& part, const SquashfsPoint& point) {
    CYBELE_TRY(const Loop loop, attach_free_device(part));
    if (fchdir(point.folder) != 0 ||
        mount(
            loop.path.c_str(), point.name, "squashfs", MS_RDONLY | MS_NOSUID | MS_NODEV, nullptr) !=
            0) {
        return fail(system_error("the kernel cannot mount the squashfs", errno));
    }
    // The mount holds the device now; with the mount it is cleared.
    return {};
}

} // namespace cybele::namespaces
