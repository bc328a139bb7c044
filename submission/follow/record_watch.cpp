// SPDX-License-Identifier: Apache-2.0
#include "submission/follow/record_watch.hpp"

#include <array>
#include <cstring>
#include <string_view>

#include <sys/inotify.h>
#include <unistd.h>

namespace cybele::submission {

void RecordWatch::add(const std::filesystem::path& record) {
    if (!fd_.valid()) {
        fd_.reset(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
    }
    if (fd_.valid()) {
        // A name comes by link(2) or by rename(2); then the file is whole.
        (void)::inotify_add_watch(fd_.get(), record.c_str(), IN_CREATE | IN_MOVED_TO | IN_ONLYDIR);
    }
}

bool RecordWatch::take() {
    bool is_end = false;
    std::array<char, 4096> bytes{};
    for (ssize_t got = 0; (got = ::read(fd_.get(), bytes.data(), bytes.size())) > 0;) {
        const char* const end = bytes.data() + got;
        for (const char* at = bytes.data(); at < end;) {
            inotify_event event{};
            std::memcpy(&event, at, sizeof event);
            const char* const name = at + sizeof event;
            // What did not fit into the kernel's queue could be anything.
            is_end = is_end || (event.mask & IN_Q_OVERFLOW) != 0 ||
                     (event.len != 0 && std::string_view(name) == "exit.json");
            at = name + event.len;
        }
    }
    return is_end;
}

} // namespace cybele::submission
