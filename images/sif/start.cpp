// SPDX-License-Identifier: Apache-2.0
#include "images/sif/start.hpp"

#include "images/sif/format.hpp"

#include <array>

#include <unistd.h>

namespace cybele::images {
namespace {

constexpr std::string_view kSquashfsMagic = "hsqs";

} // namespace

ImageStart image_start(std::string_view first) {
    if (first.size() > kLaunchScriptSize &&
        first.substr(kLaunchScriptSize).starts_with(kSifMagic)) {
        return {ImageStart::Kind::kSif, 0};
    }
    const std::size_t line = first.starts_with("#!") ? first.find('\n') : std::string_view::npos;
    const std::size_t behind = line == std::string_view::npos ? 0 : line + 1;
    if (first.substr(behind).starts_with(kSquashfsMagic)) {
        return {ImageStart::Kind::kSquashfs, behind};
    }
    return {};
}

ImageStart image_start(int fd) {
    std::array<char, kStartSize> first{};
    const ssize_t got = ::pread(fd, first.data(), first.size(), 0);
    return image_start({first.data(), got < 0 ? 0 : static_cast<std::size_t>(got)});
}

} // namespace cybele::images
