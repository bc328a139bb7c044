// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"
#include "support/file.hpp"

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace cybele {

using EnvironmentMap = std::map<std::string, std::string>;

/// What to start. argv[0] is looked up in PATH of `environment` unless it holds a slash.
struct Command {
    enum class Stream { kInherit, kCapture, kDiscard };

    std::vector<std::string> argv;
    std::optional<EnvironmentMap> environment; ///< unset: this process's own
    std::filesystem::path directory;           ///< empty: this process's own
    std::optional<std::string> input;          ///< given to standard input; unset: inherited
    std::function<std::string()> more_input;   ///< behind `input`, piece by piece; "" is the end
    Stream output = Stream::kCapture;
    Stream errors = Stream::kCapture;
    std::function<void(std::string_view)> on_output; ///< sees it as it comes; Outcome has the end
    /// Takes standard output as it comes; then Outcome::output stays empty. False: no more is
    /// wanted, and its pipe is closed.
    std::function<bool(std::string_view)> take_output;
    std::optional<std::chrono::milliseconds> limit; ///< then TERM, 2 s later KILL
    std::function<void()> meanwhile;                ///< called each second until it has ended
};

/// How a process ended.
struct Outcome {
    int code = 0;   ///< exit code when signal is 0
    int signal = 0; ///< the signal that killed it
    /// The last of TERM, INT and HUP that was passed on to it, which may have ended just before.
    int passed_on = 0;
    bool timed_out = false;
    std::string output;
    std::string errors;

    /// As a shell counts: code, or 128 + signal.
    [[nodiscard]] int shell_code() const {
        return signal != 0 ? 128 + signal : code;
    }
    [[nodiscard]] bool ok() const {
        return signal == 0 && code == 0;
    }
};

/// Starts a process, waits for its end. A program that is not found is kEnvironment. A non-zero
/// exit code is not an error here. TERM, INT and HUP that arrive while it runs are passed on to it;
/// those that come after its end are this process's own.
[[nodiscard]] Result<Outcome> run_process(const Command& command);

/// Starts a process with `socket` as its standard input and output; of the command, argv and
/// environment count. It is killed when this process ends. The caller waits for its end.
[[nodiscard]] Result<pid_t> start_process(const Command& command, int socket);

/// The program's path in PATH (colon separated), if it is there and executable.
[[nodiscard]] std::optional<std::filesystem::path> find_program(std::string_view name,
                                                                std::string_view search_path);
/// The same in this process's own PATH.
[[nodiscard]] std::optional<std::filesystem::path> find_program(std::string_view name);

/// waitpid() that goes on after EINTR; the shell's code (code, or 128 + signal), or -1.
[[nodiscard]] int wait_for(pid_t pid);

} // namespace cybele
