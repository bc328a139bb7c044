// SPDX-License-Identifier: Apache-2.0
#include "support/process.hpp"

#include "support/file_size_signal.hpp"
#include "support/quote.hpp"
#include "support/signals.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cybele {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPiece = 65536;
/// Captured, where nobody sees it as it comes: the largest answer of a service, 256 MiB in base64.
constexpr std::size_t kMostCaptured = std::size_t{384} << 20U;
/// Kept of a stream that is seen as it comes: its end, for an error.
constexpr std::size_t kMostSeen = std::size_t{1} << 20U;

struct Pipe {
    UniqueFd read_end;
    UniqueFd write_end;
};

Result<Pipe> make_pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
        return fail(system_error("cannot make a pipe", errno));
    }
    return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

/// Everything the child needs, made before the fork: it may call async-signal-safe functions only.
struct Child {
    std::string program;
    std::vector<char*> argv;
    std::vector<std::string> variables;
    std::vector<char*> environment;
    std::string directory;
    std::array<int, 3> streams{-1, -1, -1}; ///< -1: inherited
    sigset_t mask{};
    pid_t parent = 0;
};

[[noreturn]] void run_child(const Child& child, int report) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != child.parent) {
        ::_exit(127);
    }
    for (int stream = 0; stream < 3; ++stream) {
        const int fd = child.streams[static_cast<std::size_t>(stream)];
        if (fd >= 0 && ::dup2(fd, stream) < 0) {
            ::_exit(127);
        }
    }
    ::pthread_sigmask(SIG_SETMASK, &child.mask, nullptr);
    ::signal(SIGPIPE, SIG_DFL); // NOLINT: the only thread of the child
    restore_file_size_signal();
    if (child.directory.empty() || ::chdir(child.directory.c_str()) == 0) {
        ::execve(child.program.c_str(), child.argv.data(), child.environment.data());
    }
    const int number = errno;
    (void)!::write(report, &number, sizeof number);
    ::_exit(127);
}

/// Reads what there is, for `take`, else to be kept; false at the end of the stream.
bool drain(int fd,
           std::string& into,
           const std::function<bool(std::string_view)>& take,
           const std::function<void(std::string_view)>& on_output) {
    std::array<char, kPiece> buffer{};
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count < 0) {
        return errno == EINTR || errno == EAGAIN;
    }
    const std::string_view piece(buffer.data(), static_cast<std::size_t>(count));
    if (on_output && !piece.empty()) {
        on_output(piece);
    }
    if (take && !piece.empty()) {
        return take(piece);
    }
    into.append(piece);
    if (on_output && into.size() > 2 * kMostSeen) {
        into.erase(0, into.size() - kMostSeen);
    }
    return count > 0;
}

/// What is in the pipe when the child has ended, and no more: a grandchild may go on writing.
void drain_rest(int fd,
                std::string& into,
                const std::function<bool(std::string_view)>& take,
                const std::function<void(std::string_view)>& on_output) {
    int left = 0;
    if (fd < 0 || ::ioctl(fd, FIONREAD, &left) != 0) {
        return;
    }
    while (left > 0 && drain(fd, into, take, on_output)) {
        left -= kPiece; // a read gives all that there is, up to this
    }
}

/// TERM, INT, HUP and CHLD of this process, taken from a descriptor while a child runs; CHLD alone
/// where a SignalWatch reads the others.
class SignalRelay {
public:
    SignalRelay() {
        sigset_t relayed{};
        ::sigemptyset(&relayed);
        ::sigaddset(&relayed, SIGCHLD);
        if (SignalWatch::current() == nullptr) {
            for (const int number : {SIGTERM, SIGINT, SIGHUP}) {
                ::sigaddset(&relayed, number);
            }
        }
        ::pthread_sigmask(SIG_BLOCK, &relayed, &before_);
        fd_.reset(::signalfd(-1, &relayed, SFD_CLOEXEC | SFD_NONBLOCK));
    }
    SignalRelay(const SignalRelay&) = delete;
    SignalRelay& operator=(const SignalRelay&) = delete;
    ~SignalRelay() {
        ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }

    [[nodiscard]] int fd() const {
        return fd_.get();
    }
    [[nodiscard]] const sigset_t& before() const {
        return before_;
    }
    /// The last signal that was passed on, or 0.
    [[nodiscard]] int pass_on(pid_t pid) const {
        int last = 0;
        signalfd_siginfo information{};
        while (::read(fd_.get(), &information, sizeof information) ==
               static_cast<ssize_t>(sizeof information)) {
            if (information.ssi_signo != SIGCHLD) {
                last = static_cast<int>(information.ssi_signo);
                ::kill(pid, last);
            }
        }
        return last;
    }

private:
    sigset_t before_{};
    UniqueFd fd_;
};

struct Streams {
    Pipe input;
    Pipe output;
    Pipe errors;
    std::string piece;     ///< of Command::more_input
    std::string_view left; ///< what is not written yet
};

void write_input(const Command& command, Streams& streams) {
    if (streams.left.empty() && command.more_input) {
        streams.piece = command.more_input();
        streams.left = streams.piece;
    }
    if (streams.left.empty()) {
        streams.input.write_end.reset();
        return;
    }
    const ssize_t count =
        ::write(streams.input.write_end.get(), streams.left.data(), streams.left.size());
    if (count > 0) {
        streams.left.remove_prefix(static_cast<std::size_t>(count));
    }
    const bool is_done = streams.left.empty() && !command.more_input;
    if (is_done || (count < 0 && errno != EAGAIN && errno != EINTR)) {
        streams.input.write_end.reset();
    }
}

/// Enforces the time limit: TERM, then KILL two seconds later.
class Limit {
public:
    explicit Limit(const std::optional<std::chrono::milliseconds>& limit) {
        if (limit) {
            deadline_ = Clock::now() + *limit;
        }
    }
    [[nodiscard]] bool has_passed() const {
        return timed_out_;
    }
    /// For poll(): milliseconds to the deadline, -1 without one; at most kPollInterval where
    /// the end of the child does not interrupt poll().
    [[nodiscard]] int timeout(bool is_notified) const {
        constexpr int kPollInterval = 200;
        if (!deadline_) {
            return is_notified ? -1 : kPollInterval;
        }
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(*deadline_ - Clock::now()).count();
        return static_cast<int>(
            std::clamp<std::int64_t>(left, 0, is_notified ? 1'000'000 : kPollInterval));
    }
    void enforce(pid_t pid) {
        if (deadline_ && Clock::now() >= *deadline_) {
            ::kill(pid, timed_out_ ? SIGKILL : SIGTERM);
            timed_out_ = true;
            deadline_ = Clock::now() + std::chrono::seconds(2);
        }
    }

private:
    std::optional<Clock::time_point> deadline_;
    bool timed_out_ = false;
};

/// Ends a child that prints without end.
tl::unexpected<Error> too_much_output(pid_t pid, const Command& command) {
    ::kill(pid, SIGKILL);
    (void)wait_for(pid);
    return fail(ErrorCode::kExecution,
                problem("output-too-long",
                        "the output of " + printable(command.argv.front()) + " is too long"),
                "more than " + std::to_string(kMostCaptured >> 20U) +
                    " MiB are not stored; the program was ended",
                "see what it prints: " + printable(shell_join(command.argv)));
}

/// Moves bytes until the child has ended, then takes what is left in the pipes without waiting for
/// grandchildren that still hold them.
Result<Outcome>
follow(pid_t pid, const Command& command, Streams& streams, const SignalRelay& relay) {
    Outcome outcome;
    Limit limit(command.limit);
    constexpr std::chrono::seconds kBetween{1};
    auto asked = Clock::now();
    // CHLD may be taken by another thread; kernels before 5.3 have no such descriptor.
    const UniqueFd end(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    const bool is_notified = end.valid() || ::gettid() == ::getpid();
    int status = 0;
    for (;;) {
        std::array<pollfd, 5> waits{{{relay.fd(), POLLIN, 0},
                                     {streams.output.read_end.get(), POLLIN, 0},
                                     {streams.errors.read_end.get(), POLLIN, 0},
                                     {streams.input.write_end.get(), POLLOUT, 0},
                                     {end.get(), POLLIN, 0}}};
        constexpr int kSecond = 1000;
        const int wait = limit.timeout(is_notified);
        const bool is_asked = command.meanwhile && (wait < 0 || wait > kSecond);
        (void)::poll(waits.data(), waits.size(), is_asked ? kSecond : wait);
        if (command.meanwhile && Clock::now() - asked >= kBetween) {
            command.meanwhile();
            asked = Clock::now();
        }
        if (waits[0].revents != 0) {
            const int signal = relay.pass_on(pid);
            outcome.passed_on = signal != 0 ? signal : outcome.passed_on;
        }
        if (waits[1].revents != 0 && !drain(streams.output.read_end.get(),
                                            outcome.output,
                                            command.take_output,
                                            command.on_output)) {
            streams.output.read_end.reset();
        }
        if (waits[2].revents != 0 &&
            !drain(streams.errors.read_end.get(), outcome.errors, {}, command.on_output)) {
            streams.errors.read_end.reset();
        }
        if (waits[3].revents != 0) {
            write_input(command, streams);
        }
        if (!command.on_output && outcome.output.size() + outcome.errors.size() > kMostCaptured) {
            return too_much_output(pid, command);
        }
        if (::waitpid(pid, &status, WNOHANG) == pid) {
            break;
        }
        limit.enforce(pid);
    }
    outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    outcome.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    drain_rest(
        streams.output.read_end.get(), outcome.output, command.take_output, command.on_output);
    drain_rest(streams.errors.read_end.get(), outcome.errors, {}, command.on_output);
    outcome.timed_out = limit.has_passed();
    return outcome;
}

Result<Child> prepare(const Command& command) {
    Child child;
    const char* own_path = ::getenv("PATH"); // NOLINT(concurrency-mt-unsafe): nobody sets variables
    std::string search = own_path != nullptr ? own_path : "/usr/bin:/bin";
    if (command.environment) {
        for (const auto& [name, value] : *command.environment) {
            child.variables.emplace_back(name).append("=").append(value);
            if (name == "PATH") {
                search = value;
            }
        }
    }
    const auto program = find_program(command.argv.front(), search);
    if (!program) {
        return fail(ErrorCode::kEnvironment,
                    problem("program-missing",
                            "the program '" + printable(command.argv.front()) + "' is not here"),
                    "it was looked for in " + search,
                    "install it, or put its folder into PATH");
    }
    child.program = program->native();
    for (const std::string& word : command.argv) {
        child.argv.push_back(const_cast<char*>(word.c_str())); // NOLINT: execve takes char*
    }
    child.argv.push_back(nullptr);
    for (std::string& variable : child.variables) {
        child.environment.push_back(variable.data());
    }
    child.environment.push_back(nullptr);
    if (!command.environment) {
        child.environment.clear();
        for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
            child.environment.push_back(*entry);
        }
        child.environment.push_back(nullptr);
    }
    child.directory = command.directory.native();
    child.parent = ::getpid();
    return child;
}

/// Opens the pipes that the command asks for and sets the child's ends.
Result<Streams> open_streams(const Command& command, Child& child, UniqueFd& nowhere) {
    Streams streams;
    nowhere.reset(::open("/dev/null", O_RDWR | O_CLOEXEC));
    if (command.input || command.more_input) {
        if (command.input) {
            streams.left = *command.input;
        }
        CYBELE_TRY(streams.input, make_pipe());
        ::fcntl(streams.input.write_end.get(), F_SETFL, O_NONBLOCK);
        child.streams[0] = streams.input.read_end.get();
    }
    const auto connect = [&](Command::Stream how, Pipe& pipe, int& end) -> Result<void> {
        if (how == Command::Stream::kCapture) {
            CYBELE_TRY(pipe, make_pipe());
            end = pipe.write_end.get();
        } else if (how == Command::Stream::kDiscard) {
            end = nowhere.get();
        }
        return {};
    };
    CYBELE_CHECK(connect(command.output, streams.output, child.streams[1]));
    CYBELE_CHECK(connect(command.errors, streams.errors, child.streams[2]));
    return streams;
}

} // namespace

Result<Outcome> run_process(const Command& command) {
    CYBELE_TRY(Child child, prepare(command));
    UniqueFd nowhere;
    CYBELE_TRY(Streams streams, open_streams(command, child, nowhere));
    CYBELE_TRY(Pipe report, make_pipe());
    const SignalRelay relay;
    const SignalWatch* const watch = SignalWatch::current();
    child.mask = watch != nullptr ? watch->before() : relay.before();
    const pid_t pid = ::fork();
    if (pid < 0) {
        return fail(system_error("cannot start " + command.argv.front(), errno));
    }
    if (pid == 0) {
        run_child(child, report.write_end.get());
    }
    report.write_end.reset();
    streams.input.read_end.reset();
    streams.output.write_end.reset();
    streams.errors.write_end.reset();
    int number = 0;
    if (::read(report.read_end.get(), &number, sizeof number) ==
        static_cast<ssize_t>(sizeof number)) {
        (void)wait_for(pid);
        return fail(system_error("cannot start " + printable(command.argv.front()), number));
    }
    return follow(pid, command, streams, relay);
}

Result<pid_t> start_process(const Command& command, int socket) {
    CYBELE_TRY(Child child, prepare(command));
    CYBELE_TRY(Pipe report, make_pipe());
    child.streams = {socket, socket, -1};
    const SignalWatch* const watch = SignalWatch::current();
    if (watch != nullptr) {
        child.mask = watch->before();
    } else {
        ::pthread_sigmask(SIG_BLOCK, nullptr, &child.mask);
    }
    const pid_t pid = ::fork();
    if (pid < 0) {
        return fail(system_error("cannot start " + command.argv.front(), errno));
    }
    if (pid == 0) {
        run_child(child, report.write_end.get());
    }
    report.write_end.reset();
    int number = 0;
    if (::read(report.read_end.get(), &number, sizeof number) ==
        static_cast<ssize_t>(sizeof number)) {
        (void)wait_for(pid);
        return fail(system_error("cannot start " + printable(command.argv.front()), number));
    }
    return pid;
}

std::optional<std::filesystem::path> find_program(std::string_view name,
                                                  std::string_view search_path) {
    const auto is_program = [](const std::filesystem::path& path) {
        std::error_code error;
        return std::filesystem::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
    };
    if (name.find('/') != std::string_view::npos) {
        const std::filesystem::path path(name);
        return is_program(path) ? std::optional(path) : std::nullopt;
    }
    while (!search_path.empty()) {
        const std::size_t end = std::min(search_path.find(':'), search_path.size());
        const std::filesystem::path folder(search_path.substr(0, end));
        if (!folder.empty() && is_program(folder / name)) {
            return folder / name;
        }
        search_path.remove_prefix(std::min(end + 1, search_path.size()));
    }
    return std::nullopt;
}

std::optional<std::filesystem::path> find_program(std::string_view name) {
    const char* path = ::getenv("PATH"); // NOLINT(concurrency-mt-unsafe): nobody sets variables
    return find_program(name, path != nullptr ? path : "/usr/bin:/bin");
}

int wait_for(pid_t pid) {
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR) {
            return -1;
        }
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

} // namespace cybele
