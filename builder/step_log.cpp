// SPDX-License-Identifier: Apache-2.0
#include "builder/step_log.hpp"

#include "support/file.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <sstream>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::builder {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kShownStepLines = 20;
constexpr std::size_t kLogTail = std::size_t{256} << 10U;

/// What the user sees, or a file whose end is shown on failure.
class Log {
public:
    static Result<Log> open(const Surroundings& surroundings) {
        Log log;
        if (surroundings.is_verbose) {
            log.fd_.reset(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3));
        } else {
            log.path_ = surroundings.work / "log";
            log.fd_.reset(
                ::open(log.path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600));
        }
        if (!log.fd_.valid()) {
            return fail(system_error("cannot open the log of the build", errno));
        }
        return log;
    }
    [[nodiscard]] int fd() const {
        return fd_.get();
    }
    [[nodiscard]] std::string end() const {
        struct stat status {};
        if (path_.empty() || ::fstat(fd_.get(), &status) != 0) {
            return {};
        }
        const auto size = static_cast<std::size_t>(status.st_size);
        std::string text(std::min(size, kLogTail), '\0');
        const std::size_t from = size - text.size();
        if (!read_at(fd_.get(), from, std::as_writable_bytes(std::span(text)), path_)) {
            return {};
        }
        return last_lines(text, kShownStepLines);
    }

private:
    UniqueFd fd_;
    fs::path path_;
};

} // namespace

std::string last_lines(std::string_view text, std::size_t count) {
    std::vector<std::string> lines;
    std::istringstream stream{std::string(text)};
    for (std::string line; std::getline(stream, line);) {
        // What a progress bar overwrote was not seen either.
        const std::size_t end = line.find_last_not_of(" \t\r");
        const std::size_t overwritten = line.find_last_of('\r', end);
        if (end != std::string::npos && overwritten != std::string::npos) {
            line.erase(0, overwritten + 1);
        }
        if (line.find_first_not_of(" \t\r") != std::string::npos) {
            lines.push_back("  " + printable(line.substr(0, line.find_last_not_of(" \t\r") + 1)));
        }
    }
    const std::size_t skipped = lines.size() > count ? lines.size() - count : 0;
    return fmt::format(
        "{}", fmt::join(lines.begin() + static_cast<std::ptrdiff_t>(skipped), lines.end(), "\n"));
}

Result<ScriptEnd> run_logged(const namespaces::Sandbox& sandbox, const Surroundings& surroundings) {
    CYBELE_TRY(const Log log, Log::open(surroundings));
    CYBELE_TRY(const int code, namespaces::run_sandboxed(sandbox, log.fd()));
    ScriptEnd end;
    end.code = code;
    if (code != 0) {
        end.last_lines = log.end();
    }
    return end;
}

} // namespace cybele::builder
