// SPDX-License-Identifier: Apache-2.0
#include "cli/common/call.hpp"

#include "runtime/namespaces/accounts.hpp"
#include "support/file_size_signal.hpp"
#include "support/lint.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <exception>

#include <fcntl.h>
#include <unistd.h>

namespace cybele::cli {

namespace {

/// Batch systems and services start programs without HOME, and a relative one counts as none; then
/// it is that of the account.
void find_home(Environment& environment) {
    constexpr std::size_t kHomeField = 5; // passwd(5)
    if (environment.get_absolute("HOME")) {
        return;
    }
    if (const auto line = namespaces::passwd_line(::getuid())) {
        if (const auto home = namespaces::account_field(*line, kHomeField); !home.empty()) {
            environment.set("HOME", home);
        }
    }
}

} // namespace

void learn(Session& session, void (*sigpipe_before)(int)) {
    session.sigpipe_before = sigpipe_before;
    session.environment = Environment::of_this_process();
    session.ignored_folders = session.environment.ignored_folders();
    find_home(session.environment);
    session.is_terminal = ::isatty(STDERR_FILENO) != 0;
}

namespace {

constexpr std::string_view kRunner = "run-singularity";

std::string_view last_part(std::string_view path) {
    return path.substr(path.rfind('/') + 1); // npos + 1 is 0
}

} // namespace

std::vector<std::string> words_of(int argc, char** argv) {
    std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
    if (argc > 0 && last_part(argv[0]) == kRunner) {
        words.insert(words.begin(), "run");
    }
    return words;
}

std::string apptainer_name_of(std::string_view path) {
    const std::string_view name = last_part(path);
    if (name == kRunner) {
        return "singularity";
    }
    return name == "apptainer" || name == "singularity" ? std::string(name) : std::string();
}

namespace {

/// By the name of Apptainer: of the verbs of keys and of SIF objects, which end in their own way;
/// else 0.
int code_of_verb(const Session& session) {
    struct Row {
        std::string_view group;
        std::string_view verb; ///< empty: any
        int code;
    };
    constexpr Row kCodes[] = {
        {"key", "import", 2}, {"key", "new", 2}, {"key", "export", 10}, {"sif", "", 1}};
    const auto& words = session.words;
    const auto group = std::find_if_not(
        words.begin(), words.end(), [](const std::string& word) { return word.starts_with('-'); });
    if (!session.is_apptainer() || group == words.end() || group + 1 == words.end()) {
        return 0;
    }
    for (const Row& row : kCodes) {
        if (*group == row.group && (row.verb.empty() || *(group + 1) == row.verb)) {
            return row.code;
        }
    }
    return 0;
}

} // namespace

namespace {

/// Each command would make a folder of its own where it is called: a store that has no images, a
/// journal without jobs.
Result<void> check_own_folders(const Environment& environment) {
    constexpr std::array<const char*, 5> kFolders = {"CYBELE_CACHE_DIR",
                                                     "CYBELE_CONFIG_DIR",
                                                     "CYBELE_STATE_DIR",
                                                     "CYBELE_STORE",
                                                     "CYBELE_TMPDIR"};
    for (const char* name : kFolders) {
        const auto value = environment.get(name);
        if (value && !environment.get_absolute(name)) {
            return fail(ErrorCode::kUsage,
                        problem("variable-relative-folder",
                                std::string(name) + " is a relative path: " + printable(*value)),
                        "it would be another folder for a command that is called elsewhere",
                        "set an absolute path: export " + std::string(name) + "=\"$PWD\"/" +
                            shell_quote(*value));
        }
    }
    return {};
}

/// What the command line asked for, in an environment that can be used.
Result<int> do_action(const Session& session) {
    CYBELE_CHECK(check_own_folders(session.environment));
    return session.action();
}

/// All that a check found, as one document on standard output.
int act_by_sarif(const Session& session) {
    session.collected.emplace();
    const auto code = do_action(session);
    if (!code) {
        session.note(code.error().faults());
    }
    Session::print(lint::sarif_of(*session.collected, session.checked_file));
    return code ? *code : static_cast<int>(code.error().code());
}

} // namespace

int act(const Session& session) {
    if (session.is_sarif()) {
        return act_by_sarif(session);
    }
    const auto code = do_action(session);
    if (code) {
        const bool is_programs = session.refuses_with_255;
        return !session.is_apptainer() || is_programs || *code == 0 ? *code : kRefusedToRun;
    }
    session.note(code.error().faults());
    if (const int own = code_of_verb(session); own != 0) {
        return own;
    }
    return session.refuses_with_255 || session.is_apptainer()
               ? kRefusedToRun
               : static_cast<int>(code.error().code());
}

namespace {

/// A closed standard stream would become the first file that is opened. What takes its place fails
/// as a closed one does; by the name of Apptainer it is /dev/null, as there.
void open_standard_streams(bool as_apptainer) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
        const int closed = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
        if (::fcntl(fd, F_GETFD) < 0 &&
            ::open("/dev/null", as_apptainer ? O_RDWR : closed) < 0) { // NOLINT: no mode is given
            return;
        }
    }
}

} // namespace

int guarded(int (*call)(int, char**, void (*)(int)), int argc, char** argv) {
    open_standard_streams(argc > 0 && !apptainer_name_of(argv[0]).empty());
    auto* const sigpipe_before = std::signal(SIGPIPE, SIG_IGN); // NOLINT: before any thread
    ignore_file_size_signal();
    try {
        return call(argc, argv, sigpipe_before);
    } catch (const std::exception& exception) {
        (void)std::fprintf(
            stderr,
            "error: a fault of cybelectl itself: %s\nhelp: please report it with the "
            "command line\n",
            exception.what());
    } catch (...) {
        (void)std::fprintf(stderr, "error: a fault of cybelectl itself\n");
    }
    return 1;
}

} // namespace cybele::cli
