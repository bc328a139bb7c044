// SPDX-License-Identifier: Apache-2.0
#include "cli/common/progress.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace cybele::cli {

namespace {

constexpr std::size_t kPercent = 7; ///< ` 100 %`, and a column for the cursor

/// Of the terminal; a line that is longer than that would not be written over, but below.
std::size_t columns() {
    constexpr std::size_t kUsual = 80;
    winsize size{};
    const bool is_known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0; // NOLINT: variadic
    return std::max<std::size_t>(is_known && size.ws_col > 0 ? size.ws_col : kUsual, 2 * kPercent);
}

/// Its end, which tells files apart.
std::string cut(const std::string& text, std::size_t width) {
    return text.size() <= width ? text : "~" + text.substr(text.size() - width + 1);
}

} // namespace

std::function<void(std::uint64_t done, std::uint64_t total)> progress(const Session& session,
                                                                      const std::string& what) {
    constexpr std::uint64_t kSmall = std::uint64_t{64} << 20U; // done before anybody looks
    if (session.is_quiet || what.empty()) {
        return {};
    }
    return [&session, what, last = std::make_shared<std::uint64_t>(0)](std::uint64_t done,
                                                                       std::uint64_t total) {
        const std::uint64_t percent = total == 0 ? 100 : done * 100 / total;
        if (percent == *last && done != total) {
            return;
        }
        *last = percent;
        session.doing(done == total ? what : fmt::format("{}: {} %", what, percent));
        if (!session.is_terminal || total < kSmall) {
            return;
        }
        const std::string line =
            done == total ? "\r\x1b[K"
                          : fmt::format("\r{} {} %", cut(what, columns() - kPercent), percent);
        (void)std::fwrite(line.data(), 1, line.size(), stderr);
        session.touch();
    };
}

} // namespace cybele::cli
