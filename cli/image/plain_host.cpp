// SPDX-License-Identifier: Apache-2.0
#include "cli/image/plain_host.hpp"

#include "support/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace cybele::cli {

bool is_plain_host(std::string_view host) {
    constexpr std::array<std::string_view, 4> kBegins = {"127.", "[::1]", "10.", "192.168."};
    const std::string_view name = host.substr(0, host.find(':'));
    const auto parts = text::split_terminated(name, '.');
    int second = 0;
    if (parts.size() == 4 && parts[0] == "172") {
        (void)std::from_chars(parts[1].data(), parts[1].data() + parts[1].size(), second);
    }
    return name == "localhost" || name.ends_with(".local") || (second >= 16 && second < 32) ||
           std::any_of(kBegins.begin(), kBegins.end(), [&](std::string_view begin) {
               return host.starts_with(begin);
           });
}

bool has_plain_host(std::string_view image) {
    const std::size_t colon = image.find("://");
    const bool is_registry = image.starts_with("docker://") || image.starts_with("oras://");
    return is_registry &&
           is_plain_host(image.substr(colon + 3, image.find('/', colon + 3) - colon - 3));
}

} // namespace cybele::cli
