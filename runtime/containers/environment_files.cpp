// SPDX-License-Identifier: Apache-2.0
#include "runtime/containers/environment_files.hpp"

#include "support/directory.hpp"
#include "support/file.hpp"

#include <span>

#include <fcntl.h>
#include <sys/stat.h>

namespace cybele::runtime {
namespace {

constexpr std::size_t kMostFiles = 64;
constexpr std::size_t kMostText = std::size_t{64} << 10U;

bool is_read(const std::string& name) {
    return name.ends_with(".sh") && !name.starts_with('.');
}

/// Of a plain file that is no link, which might lead out of the image.
std::optional<std::string> read_plain(int folder, const std::string& name) {
    const UniqueFd fd(openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
    struct stat status = {};
    if (!fd.valid() || fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
        static_cast<std::size_t>(status.st_size) > kMostText) {
        return std::nullopt;
    }
    std::string text(static_cast<std::size_t>(status.st_size), '\0');
    if (!read_at(fd.get(), 0, std::as_writable_bytes(std::span(text)), name)) {
        return std::nullopt;
    }
    return text;
}

std::optional<std::vector<EnvironmentFile>> read_all(int folder,
                                                     const std::vector<std::string>& names) {
    std::vector<EnvironmentFile> files;
    for (const std::string& name : names) {
        auto text = is_read(name) ? read_plain(folder, name) : std::string();
        if (!text || files.size() == kMostFiles) {
            return std::nullopt;
        }
        if (is_read(name)) {
            files.push_back({name, std::move(*text)});
        }
    }
    return files;
}

} // namespace

std::optional<std::vector<EnvironmentFile>> read_environment_files(int folder) {
    const auto names = names_in(folder, kEnvironmentFolder);
    return names ? read_all(folder, *names) : std::nullopt;
}

} // namespace cybele::runtime
