// SPDX-License-Identifier: Apache-2.0
#include "builder/steps/step_log.hpp"

#include "runtime/namespaces/children.hpp"
#include "support/file.hpp"
#include "support/process.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <sstream>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::builder {
namespace {

namespace fs = std::filesystem;

/// Words of package managers and downloaders.
constexpr std::array<std::string_view, 12> kNetworkFaults = {"Temporary failure resolving",
                                                             "Temporary failure in name resolution",
                                                             "Could not resolve",
                                                             "Couldn't resolve",
                                                             "unable to resolve host address",
                                                             "Could not connect",
                                                             "Couldn't connect",
                                                             "Unable to connect",
                                                             "Failed to connect",
                                                             "Failed to establish a new connection",
                                                             "Network is unreachable",
                                                             "Connection timed out"};
/// As OpenSSL, Python, curl, git, apt and Java say it.
constexpr std::array<std::string_view, 7> kCertificateFaults = {
    "CERTIFICATE_VERIFY_FAILED",
    "certificate verify failed",
    "unable to get local issuer certificate",
    "self-signed certificate in certificate chain",
    "server certificate verification failed",
    "Certificate verification failed",
    "unable to find valid certification path"};
constexpr std::size_t kShownStepLines = 20;
constexpr std::size_t kLogTail = std::size_t{256} << 10U;

/// A pipe that a step writes to, and where the user sees what comes through it.
struct ShownPipe {
    namespaces::Pipe pipe;
    int target = STDERR_FILENO;
};

/// Passes on what there is; false at the end, or where it cannot be written.
bool pass_on(const ShownPipe& from, int log) {
    std::array<char, std::size_t{16} << 10U> piece{};
    const ssize_t size = ::read(from.pipe.read.get(), piece.data(), piece.size());
    if (size < 0) {
        return errno == EINTR;
    }
    const std::string_view text(piece.data(), static_cast<std::size_t>(size));
    (void)write_all(log, text, "the log of the build"); // a message without its end
    return size > 0 && write_all(from.target, text, "the output of the build");
}

/// A process that shows what comes through pipes, and appends it to the log. A step has no
/// descriptor of the user's terminal, for it could read from one what is typed there.
Result<pid_t> start_to_show(std::vector<ShownPipe>& pipes, int log) {
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child < 0) {
        return fail(system_error("cannot start a process", errno));
    }
    if (child == 0) {
        namespaces::die_with_parent(parent);
        std::vector<pollfd> waiting;
        for (ShownPipe& one : pipes) {
            one.pipe.write.reset();
            waiting.push_back({one.pipe.read.get(), POLLIN, 0});
        }
        for (std::size_t open = pipes.size(); open > 0;) {
            const bool is_read = ::poll(waiting.data(), waiting.size(), -1) > 0;
            for (std::size_t i = 0; is_read && i < pipes.size(); ++i) {
                if (waiting[i].revents != 0 && !pass_on(pipes[i], log)) {
                    waiting[i] = {-1, 0, 0};
                    pipes[i].pipe.read.reset(); // who writes more is ended by SIGPIPE
                    --open;
                }
            }
        }
        ::_exit(0);
    }
    return child;
}

/// Both streams of this process go to one place, in which their order counts.
bool has_one_output() {
    struct stat output {};
    struct stat errors {};
    return ::fstat(STDOUT_FILENO, &output) == 0 && ::fstat(STDERR_FILENO, &errors) == 0 &&
           output.st_dev == errors.st_dev && output.st_ino == errors.st_ino;
}

/// A file whose end is shown on failure, and what the user sees meanwhile.
class Log {
public:
    static Result<Log> open(const HostEnvironment& host_environment) {
        Log log;
        log.path_ = host_environment.work / "log";
        log.file_.reset(
            ::open(log.path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600));
        if (!log.file_.valid()) {
            return fail(system_error("cannot open the log of the build", errno));
        }
        if (host_environment.output != StepOutput::kKept) {
            CYBELE_CHECK(log.show(host_environment.output == StepOutput::kStreams));
        }
        return log;
    }
    [[nodiscard]] namespaces::OutputFds fds() const {
        if (pipes_.empty()) {
            return {file_.get(), file_.get()};
        }
        return {pipes_.back().pipe.write.get(), pipes_.front().pipe.write.get()};
    }
    /// All that was written is shown.
    void finish() {
        pipes_.clear();
        if (shower_ > 0) {
            (void)wait_for(std::exchange(shower_, -1));
        }
    }
    [[nodiscard]] std::string end() const {
        struct stat status {};
        if (::fstat(file_.get(), &status) != 0) {
            return {};
        }
        const auto size = static_cast<std::size_t>(status.st_size);
        std::string text(std::min(size, kLogTail), '\0');
        const std::size_t from = size - text.size();
        if (!read_at(file_.get(), from, std::as_writable_bytes(std::span(text)), path_)) {
            return {};
        }
        return last_lines(text, kShownStepLines);
    }

private:
    [[nodiscard]] Result<void> show(bool are_apart) {
        for (const int target : {STDERR_FILENO, STDOUT_FILENO}) {
            if (target == STDERR_FILENO || (are_apart && !has_one_output())) {
                CYBELE_TRY(namespaces::Pipe pipe, namespaces::make_pipe());
                pipes_.push_back({std::move(pipe), target});
            }
        }
        CYBELE_TRY(shower_, start_to_show(pipes_, file_.get()));
        for (ShownPipe& one : pipes_) {
            one.pipe.read.reset();
        }
        return {};
    }

    UniqueFd file_;
    std::vector<ShownPipe> pipes_; ///< of errors; of output, where that is another place
    pid_t shower_ = -1;
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
            line.resize(line.find_last_not_of(" \t\r") + 1);
            std::replace(line.begin(), line.end(), '\t', ' '); // an escape would not be read
            lines.push_back("  " + printable(line));
        }
    }
    const std::size_t skipped = lines.size() > count ? lines.size() - count : 0;
    return fmt::format(
        "{}", fmt::join(lines.begin() + static_cast<std::ptrdiff_t>(skipped), lines.end(), "\n"));
}

std::string missing_package(std::string_view line) {
    constexpr std::string_view kUnknown = "Unable to locate package ";
    if (!line.starts_with("E: ")) {
        return {};
    }
    if (const auto at = line.find(kUnknown); at != std::string_view::npos) {
        return std::string(line.substr(at + kUnknown.size()));
    }
    const bool is_version = line.find("was not found") != std::string_view::npos;
    if (!is_version && line.find("has no installation") == std::string_view::npos) {
        return {};
    }
    const auto end = line.rfind('\'');
    const auto begin = end == std::string_view::npos ? end : line.rfind('\'', end - 1);
    return begin == std::string_view::npos ? std::string()
                                           : std::string(line.substr(begin + 1, end - begin - 1));
}

std::string first_missing_package(std::string_view output) {
    while (!output.empty()) {
        const std::string_view line = output.substr(0, output.find('\n'));
        const std::size_t begin =
            std::min(line.find_first_not_of(' '), line.size()); // last_lines()
        if (std::string package = missing_package(line.substr(begin)); !package.empty()) {
            return package;
        }
        output.remove_prefix(std::min(line.size() + 1, output.size()));
    }
    return {};
}

namespace {

/// Whether any line, without the blanks before it, is as `is_meant` says.
template <class Test>
bool has_line(std::string_view output, const Test& is_meant) {
    const auto lines = text::split_terminated(output, '\n');
    return std::ranges::any_of(lines, [&](std::string_view line) {
        line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
        return is_meant(line);
    });
}

} // namespace

bool is_version_missing(std::string_view output) {
    return has_line(output, [](std::string_view line) {
        return line.starts_with("E: Version '") && line.ends_with("' was not found");
    });
}

bool differs_from_lock(std::string_view output) {
    return has_line(output, [](std::string_view line) {
        const auto locked = line.find(": locked ");
        return locked != std::string_view::npos && locked < line.find(' ') &&
               line.find(", got ", locked) != std::string_view::npos;
    });
}

bool is_network_fault(std::string_view output) {
    return std::ranges::any_of(kNetworkFaults, [&](std::string_view words) {
        return output.find(words) != std::string_view::npos;
    });
}

std::string refused_repository(std::string_view output) {
    constexpr std::array<std::string_view, 8> kRefusals = {"is not signed.",
                                                           ".rpm is not signed",
                                                           "is expired (invalid since",
                                                           "is not valid yet",
                                                           "no longer signed.",
                                                           "repomd.xml GPG signature verification",
                                                           "but GPG signature is not available",
                                                           "GPG check FAILED"};
    for (std::string_view line : text::split_terminated(output, '\n')) {
        line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
        if (std::ranges::any_of(kRefusals, [&](std::string_view words) {
                return line.find(words) != std::string_view::npos;
            })) {
            line.remove_prefix(line.starts_with("E: ") || line.starts_with("W: ") ? 3 : 0);
            return std::string(line);
        }
    }
    return {};
}

bool is_certificate_fault(std::string_view output) {
    return std::ranges::any_of(kCertificateFaults, [&](std::string_view words) {
        return output.find(words) != std::string_view::npos;
    });
}

std::string output_because(const std::string& who, std::string_view output) {
    return (is_network_fault(output) ? "the network was not reached; " : "") + who + ":\n" +
           std::string(output);
}

Result<ScriptEnd> run_logged(const namespaces::Sandbox& sandbox,
                             const HostEnvironment& host_environment) {
    CYBELE_TRY(Log log, Log::open(host_environment));
    const auto ran = namespaces::run_sandboxed(sandbox, log.fds());
    log.finish();
    CYBELE_TRY(const int code, ran);
    ScriptEnd end;
    end.code = code;
    if (code != 0) {
        end.last_lines = log.end();
    }
    return end;
}

} // namespace cybele::builder
