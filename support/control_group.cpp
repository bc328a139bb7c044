// SPDX-License-Identifier: Apache-2.0
#include "support/control_group.hpp"

#include "support/file.hpp"
#include "support/text.hpp"

namespace cybele {

namespace {

constexpr std::size_t kMostGroupText = std::size_t{1} << 20U;

} // namespace

std::optional<ControlGroupMount> control_group_mount(const std::filesystem::path& process) {
    constexpr std::size_t kTop = 3;
    constexpr std::size_t kPoint = 4;
    const std::string mounts = read_file(process / "mountinfo", kMostGroupText).value_or("");
    for (const std::string_view line : text::split_terminated(mounts, '\n')) {
        const auto words = text::split(line, ' ');
        if (line.find(" - cgroup2 ") != std::string_view::npos && words.size() > kPoint) {
            return ControlGroupMount{words[kPoint], std::string(words[kTop])};
        }
    }
    return std::nullopt;
}

std::optional<std::string> control_group(const std::filesystem::path& process,
                                         std::string_view controller) {
    const std::string groups = read_file(process / "cgroup", kMostGroupText).value_or("");
    for (const std::string_view line : text::split_terminated(groups, '\n')) {
        const auto first = line.find(':');
        const auto second = line.find(':', first + 1);
        if (first != std::string_view::npos && second != std::string_view::npos &&
            line.substr(first + 1, second - first - 1) == controller &&
            line.substr(second + 1).starts_with('/')) {
            return std::string(line.substr(second + 1));
        }
    }
    return std::nullopt;
}

} // namespace cybele
