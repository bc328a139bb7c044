// SPDX-License-Identifier: Apache-2.0
#include "cli/common/session.hpp"

#include "cli/common/refusal.hpp"
#include "support/message.hpp"
#include "support/quote.hpp"

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <optional>

#include <unistd.h>

namespace cybele::cli {

namespace {

constexpr const char* kEpoch = "SOURCE_DATE_EPOCH";
constexpr std::int64_t kLastEpoch = 253402300799; // the end of the year 9999

std::optional<std::int64_t> read_epoch(const std::string& text) {
    std::int64_t seconds = -1;
    const char* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, seconds);
    const bool is_good = error == std::errc() && end == last && seconds >= 0;
    return is_good && seconds <= kLastEpoch ? std::optional(seconds) : std::nullopt;
}

} // namespace

Result<void> Session::check_epoch() const {
    const auto text = environment.get(kEpoch);
    if (!text || read_epoch(*text)) {
        return {};
    }
    return fail(ErrorCode::kUsage,
                problem("source-date-epoch",
                        std::string(kEpoch) + " is not a valid time: '" + printable(*text) + "'"),
                "it is the number of seconds since 1970, until the year 9999",
                "`unset SOURCE_DATE_EPOCH`, or set it as `date +%s` prints it");
}

std::int64_t Session::now() const {
    return read_epoch(environment.get_or(kEpoch, "")).value_or(clock());
}

std::int64_t Session::clock() {
    return std::time(nullptr);
}

bool Session::is_deterministic() const {
    return environment.get(kEpoch).has_value();
}

void Session::say(std::string_view line) const {
    if (!is_quiet && (is_terminal || verbosity > 0 || line.starts_with("warning: "))) {
        (void)std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
        touch();
    }
}

void Session::warn_as_apptainer(std::string_view text) const {
    if (!is_silent) {
        const std::string line = "WARNING: " + std::string(text) + "\n";
        (void)std::fwrite(line.data(), 1, line.size(), stderr);
        touch();
    }
}

void Session::inform_as_apptainer(std::string_view text) const {
    if (prints_info) {
        const std::string line = "INFO:    " + std::string(text) + "\n";
        (void)std::fwrite(line.data(), 1, line.size(), stderr);
        touch();
    }
}

void Session::work(std::string_view line) const {
    if (long_work == nullptr || line.starts_with("warning: ")) {
        say(line);
        return;
    }
    doing(std::string(line));
    say(long_work->line_of(line));
}

void Session::doing(const std::string& what, Wait wait) const {
    if (long_work != nullptr && !is_quiet && !is_json() && !is_sarif()) {
        long_work->doing(what, wait);
    }
}

void Session::touch() const {
    if (long_work != nullptr) {
        long_work->touch();
    }
}

void Session::note(const std::vector<Fault>& all, bool are_errors) const {
    std::vector<Fault> faults = all;
    if (!has_warnings() && !are_errors) {
        std::erase_if(faults, [](const Fault& fault) { return fault.is_warning; });
    }
    if (collected) {
        collected->insert(collected->end(), faults.begin(), faults.end());
        return;
    }
    const bool is_coloured = is_terminal && !no_colour && !environment.get("NO_COLOR") &&
                             environment.get_or("TERM", "") != "dumb";
    if (faults.empty()) {
        return;
    }
    std::string text = has_json_messages() ? shown_faults_json(faults)
                                           : shown_faults(faults, is_coloured, verbosity > 0);
    if (is_apptainer()) {
        text = shown_faults_as_apptainer(faults, starts_container ? Verbs::kStart : Verbs::kAny);
    }
    (void)std::fwrite(text.data(), 1, text.size(), stderr);
    touch();
}

void Session::print(std::string_view text) {
    const auto printed = try_print(text);
    if (printed) {
        return;
    }
    if (errno == EPIPE) {
        end_without_reader();
    }
    const std::string said = shown_faults(printed.error().faults());
    (void)std::fwrite(said.data(), 1, said.size(), stderr);
    ::_exit(static_cast<int>(ErrorCode::kEnvironment));
}

void Session::end_without_reader() {
    std::signal(SIGPIPE, SIG_DFL); // NOLINT: what follows is the end
    (void)std::raise(SIGPIPE);
    ::_exit(128 + SIGPIPE); // where it is blocked
}

Result<void> Session::try_print(std::string_view text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
        std::fflush(stdout) == 0) {
        return {};
    }
    const int number = errno;
    Error error = system_error("cannot write standard output", number);
    errno = number;
    return fail(std::move(error));
}

} // namespace cybele::cli
