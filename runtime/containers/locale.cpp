// SPDX-License-Identifier: Apache-2.0
#include "runtime/containers/locale.hpp"

#include "support/characters.hpp"
#include "support/file.hpp"
#include "support/find.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

namespace cybele::runtime {
namespace {

constexpr std::array<std::string_view, 4> kAlwaysThere = {"C", "POSIX", "C.UTF-8", "C.utf8"};
/// Names stand in the tables at the head of an archive.
constexpr std::size_t kArchiveHead = std::size_t{1} << 20U;

/// "en_US.UTF-8@euro" as glibc names its folder: "en_US.utf8@euro".
std::string normalised(const std::string& name) {
    const auto dot = name.find('.');
    if (dot == std::string::npos) {
        return name;
    }
    const auto at = std::min(name.find('@', dot), name.size());
    std::string codeset;
    for (const char c : name.substr(dot + 1, at - dot - 1)) {
        if (is_alphanumeric(c)) {
            codeset += to_lower(c);
        }
    }
    return name.substr(0, dot + 1) + codeset + name.substr(at);
}

bool is_in_archive(const std::filesystem::path& archive, const std::string& name) {
    const UniqueFd fd(open(archive.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.valid()) {
        return false;
    }
    std::string head(kArchiveHead, '\0');
    const ssize_t size = pread(fd.get(), head.data(), head.size(), 0);
    head.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    return head.find(name + '\0') != std::string::npos;
}

} // namespace

bool has_locale(const std::filesystem::path& root, const std::string& name) {
    if (name.empty() || name.find('/') != std::string::npos || contains(kAlwaysThere, name)) {
        return true;
    }
    const std::filesystem::path folder = root / "usr/lib/locale";
    std::error_code ignored;
    if (!std::filesystem::is_directory(folder, ignored)) {
        return !std::filesystem::exists(root / "usr/lib/os-release", ignored) &&
               !std::filesystem::exists(root / "etc/debian_version", ignored);
    }
    return std::filesystem::exists(folder / name, ignored) ||
           std::filesystem::exists(folder / normalised(name), ignored) ||
           is_in_archive(folder / "locale-archive", normalised(name));
}

void fall_back_to_known_locale(EnvironmentMap& host, const std::filesystem::path& root) {
    const auto is_locale = [](const std::string& name) {
        return name == "LANG" || name.starts_with("LC_");
    };
    const bool is_missing = std::ranges::any_of(host, [&](const auto& variable) {
        return is_locale(variable.first) && !has_locale(root, variable.second);
    });
    if (!is_missing) {
        return;
    }
    std::erase_if(host, [&](const auto& variable) { return is_locale(variable.first); });
    host["LANG"] = "C.UTF-8";
}

} // namespace cybele::runtime
