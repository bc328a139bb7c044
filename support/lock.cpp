// SPDX-License-Identifier: Apache-2.0
#include "support/lock.hpp"

#include <cerrno>

#include <sys/file.h>

namespace cybele {

bool take_lock(int fd, int how) {
    int result = -1;
    do {
        result = ::flock(fd, how);
    } while (result != 0 && errno == EINTR);
    return result == 0;
}

} // namespace cybele
