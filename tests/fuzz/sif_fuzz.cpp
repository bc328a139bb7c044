// SPDX-License-Identifier: Apache-2.0
#include "images/sif.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

/// Whatever the bytes: an image whose ranges lie in the file, or a refusal; never a crash or a big
/// allocation.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const int fd = ::memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || ::write(fd, data, size) != static_cast<ssize_t>(size)) {
        return 0;
    }
    const auto image = cybele::images::Image::open("/proc/self/fd/" + std::to_string(fd));
    if (image) {
        for (const auto& descriptor : image->descriptors()) {
            (void)image->read_object(descriptor);
        }
    }
    ::close(fd);
    return 0;
}
