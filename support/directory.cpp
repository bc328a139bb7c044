// SPDX-License-Identifier: Apache-2.0
#include "support/directory.hpp"

#include "support/file.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string_view>

#include <dirent.h>
#include <fcntl.h>

namespace cybele {

Result<std::vector<std::string>> names_in(int directory, const std::filesystem::path& path) {
    const auto failed = [&path] {
        return fail(system_error("cannot list the directory " + printable(path.native()), errno));
    };
    UniqueFd fd(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(fd.valid() ? ::fdopendir(fd.get()) : nullptr,
                                                     &::closedir);
    if (!stream) {
        return failed();
    }
    static_cast<void>(fd.release()); // the stream closes it
    std::vector<std::string> names;
    errno = 0;
    // The stream is this thread's own.
    while (const auto* entry = ::readdir(stream.get())) { // NOLINT(concurrency-mt-unsafe)
        const std::string_view name = static_cast<const char*>(entry->d_name);
        if (name != "." && name != "..") {
            names.emplace_back(name);
        }
    }
    if (errno != 0) {
        return failed();
    }
    std::sort(names.begin(), names.end());
    return names;
}

} // namespace cybele
