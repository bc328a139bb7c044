// SPDX-License-Identifier: Apache-2.0
#include "cli/session.hpp"

#include "cli/refusal.hpp"
#include "support/message.hpp"

#include <charconv>
#include <cstdio>
#include <ctime>

#include <unistd.h>

namespace cybele::cli {

std::int64_t Session::now() const {
    if (const auto epoch = environment.get("SOURCE_DATE_EPOCH")) {
        std::int64_t seconds = 0;
        const auto [end, error] =
            std::from_chars(epoch->data(), epoch->data() + epoch->size(), seconds);
        if (error == std::errc() && end == epoch->data() + epoch->size()) {
            return seconds;
        }
    }
    return clock();
}

std::int64_t Session::clock() {
    return std::time(nullptr);
}

bool Session::is_deterministic() const {
    return environment.get("SOURCE_DATE_EPOCH").has_value();
}

void Session::say(std::string_view line) const {
    if (!is_quiet && (is_terminal || verbosity > 0)) {
        (void)std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
    }
}

void Session::note(const std::vector<Fault>& faults) const {
    const bool is_coloured = is_terminal && !no_colour && !environment.get("NO_COLOR") &&
                             environment.get_or("TERM", "") != "dumb";
    if (faults.empty()) {
        return;
    }
    const std::string text =
        is_json() ? shown_faults_json(faults) : shown_faults(faults, is_coloured);
    (void)std::fwrite(text.data(), 1, text.size(), stderr);
}

void Session::print(std::string_view text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() ||
        std::fflush(stdout) != 0) {
        ::_exit(
            1); // the reader is gone, or the disk is full: nothing more can be said on this stream
    }
}

} // namespace cybele::cli
