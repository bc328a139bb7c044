// SPDX-License-Identifier: Apache-2.0
#include "runtime/namespaces/program.hpp"

#include "support/file.hpp"
#include "support/file_size_signal.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <string_view>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cybele::namespaces {
namespace {

constexpr const char* kDefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
constexpr off_t kReadAhead = off_t{128} << 10U; // bytes: a block of most images
constexpr int kNotExecutable = 126;
constexpr int kNotFound = 127;

std::vector<char*> pointers(std::vector<std::string>& words) {
    std::vector<char*> all;
    all.reserve(words.size() + 1);
    for (std::string& word : words) {
        all.push_back(word.data());
    }
    all.push_back(nullptr);
    return all;
}

/// As the shell by which Apptainer starts programs: a text without a #! line is a script, a
/// program of another processor is not. errno stays where nothing is started.
void run_by_shell(const std::string& script,
                  const std::vector<char*>& arguments,
                  const std::vector<char*>& settings) {
    std::array<char, 128> start = {};
    const UniqueFd file(open(script.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    const ssize_t size = file.valid() ? read(file.get(), start.data(), start.size()) : 0;
    const std::string_view text(start.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    if (text.find('\0') == std::string_view::npos && file.valid()) {
        std::string shell = "/bin/sh";
        std::vector<char*> words = {shell.data()};
        words.insert(words.end(), arguments.begin(), arguments.end());
        execve(shell.c_str(), words.data(), settings.data());
    }
    errno = ENOEXEC;
}

std::vector<std::string> candidates(const std::string& name, const EnvironmentMap& environment) {
    if (name.find('/') != std::string::npos) {
        return {name};
    }
    const auto path = environment.find("PATH");
    const std::string folders = path == environment.end() ? kDefaultPath : path->second;
    std::vector<std::string> all;
    for (const std::string_view folder : text::split_terminated(folders, ':')) {
        all.push_back(std::string(folder.empty() ? "." : folder) + '/' + name);
    }
    return all;
}

ExecFailure explain(const std::string& name, const std::string& tried, int saved_errno) {
    const std::string shown = "'" + printable(name) + "'";
    struct stat status = {};
    const bool is_there = !name.empty() && !tried.empty() && stat(tried.c_str(), &status) == 0;
    if (!is_there) {
        const bool is_of_path = name.find('/') == std::string::npos;
        return {Error(ErrorCode::kInput,
                      problem(is_of_path ? "program-not-in-path" : "program-not-found",
                              shown + " was not found in the container")
                          .about(name),
                      is_of_path ? "no directory of PATH has it" : "",
                      "check the spelling, or which PATH the image sets"),
                kNotFound};
    }
    if (saved_errno == ENOENT) {
        return {Error(ErrorCode::kInput,
                      problem("program-loader-missing", shown + " cannot be started"),
                      "its interpreter or dynamic loader is missing in the container",
                      "use a program that was made for this image"),
                kNotFound};
    }
    if (saved_errno == ENOEXEC) {
        return {Error(ErrorCode::kInput,
                      problem("program-wrong-processor", shown + " cannot be started"),
                      "it is not a program for this processor, or a script without a #! line",
                      "check the architecture of the image"),
                kNotExecutable};
    }
    if (saved_errno == EACCES) {
        const bool is_directory = S_ISDIR(status.st_mode);
        return {Error(ErrorCode::kEnvironment,
                      problem(is_directory ? "program-is-directory" : "program-not-executable",
                              shown + " cannot be started"),
                      is_directory ? "it is a directory" : "it is not executable for this user",
                      "name a program of the image"),
                kNotExecutable};
    }
    Error error = system_error(shown + " cannot be started", saved_errno);
    return {std::move(error), kNotExecutable};
}

// A signal handler sees no other.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
volatile sig_atomic_t program_pid = 0;

void pass_to_program(int number) {
    const int saved_errno = errno;
    if (program_pid > 0) {
        kill(program_pid, number);
    }
    errno = saved_errno;
}

} // namespace

ExecFailure exec_program(const std::vector<std::string>& argv,
                         const EnvironmentMap& environment,
                         bool is_named_by_path) {
    if (argv.empty()) {
        return {Error(ErrorCode::kUsage, problem("exec-without-program", "no program was named")),
                255};
    }
    std::vector<std::string> words = argv;
    std::vector<std::string> variables;
    for (const auto& [name, value] : environment) {
        std::string variable = name;
        variable += '=';
        variable += value;
        variables.push_back(std::move(variable));
    }
    std::vector<char*> arguments = pointers(words);
    const std::vector<char*> settings = pointers(variables);
    std::string tried;
    int saved_errno = ENOENT;
    restore_file_size_signal();
    for (const std::string& candidate : candidates(argv.front(), environment)) {
        std::string path = candidate;
        if (is_named_by_path) {
            std::error_code failed; // where the current directory is gone, the path stays as it is
            const auto full = std::filesystem::absolute(path, failed).lexically_normal();
            path = failed || path.front() == '/' ? path : full.native();
            arguments.front() = path.data();
        }
        execve(candidate.c_str(), arguments.data(), settings.data());
        if (errno == ENOEXEC && is_named_by_path) {
            run_by_shell(candidate, arguments, settings);
        }
        // As a shell: one that is there but refused counts more than those that are missing.
        if (errno != ENOENT && errno != ENOTDIR) {
            saved_errno = errno;
            tried = candidate;
        } else if (tried.empty() && access(candidate.c_str(), F_OK) == 0) {
            tried = candidate;
        }
    }
    return explain(argv.front(), tried, saved_errno);
}

void read_ahead(const std::string& program) {
    struct stat status = {};
    if (program.find('/') == std::string::npos || stat(program.c_str(), &status) != 0 ||
        !S_ISREG(status.st_mode)) {
        return; // nothing else is opened: that might wait, or do something
    }
    const UniqueFd file(open(program.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (file.valid()) {
        (void)posix_fadvise(file.get(), 0, kReadAhead, POSIX_FADV_WILLNEED);
    }
}

int wait_as_first_process(pid_t program) {
    program_pid = program;
    struct sigaction passing = {};
    passing.sa_handler = pass_to_program;
    for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2}) {
        sigaction(number, &passing, nullptr);
    }
    for (;;) {
        int status = 0;
        const pid_t ended = waitpid(-1, &status, 0);
        if (ended == program) {
            return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        }
        if (ended < 0 && errno != EINTR) {
            return 255;
        }
    }
}

} // namespace cybele::namespaces
