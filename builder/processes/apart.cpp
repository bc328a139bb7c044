// SPDX-License-Identifier: Apache-2.0
#include "builder/processes/apart.hpp"

#include "builder/processes/fault_pipe.hpp"
#include "runtime/namespaces/children.hpp"
#include "runtime/namespaces/fake_root.hpp"
#include "support/error_pipe.hpp"
#include "support/file.hpp"
#include "support/process.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <clocale>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cybele::builder {
namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};
// Shared with a signal's handler.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
std::atomic<int> caught_signal{0};
static_assert(std::atomic<int>::is_always_lock_free, "set by a signal handler");

void catch_signal(int number) {
    caught_signal.store(number);
}

constexpr char kPartEnd = '\x1f'; // parts of an event; its line is the last one

std::string event_text(const StepEvent& event) {
    return static_cast<char>(event.kind) + event.step + kPartEnd + event.stage + kPartEnd +
           event.line.c_str() + '\0';
}

StepEvent read_event(const std::string& text) {
    const std::size_t step = text.find(kPartEnd);
    const std::size_t stage = text.find(kPartEnd, step + 1);
    StepEvent event(static_cast<StepEvent::Kind>(text.front()),
                    text.substr(stage + 1),
                    text.substr(1, step - 1));
    event.stage = text.substr(step + 1, stage - step - 1);
    return event;
}

/// Steps as they arrive, each ended by a NUL. Each is answered by a byte once it is reported, so
/// that what a step writes comes after its name.
class Steps {
public:
    Steps(const Report& report, int answers) : report_(report), answers_(answers) {}

    /// False at the end of the stream.
    bool read(int fd) {
        std::array<char, 4096> buffer{};
        const ssize_t count = ::read(fd, buffer.data(), buffer.size());
        if (count <= 0) {
            return count < 0 && (errno == EINTR || errno == EAGAIN);
        }
        pending_.append(buffer.data(), static_cast<std::size_t>(count));
        for (std::size_t end = pending_.find('\0'); end != std::string::npos;
             end = pending_.find('\0')) {
            if (report_) {
                report_(read_event(pending_.substr(0, end)));
            }
            (void)write_all(answers_, "+", "answers");
            pending_.erase(0, end + 1);
        }
        return true;
    }

private:
    const Report& report_;
    int answers_;
    std::string pending_;
};

void wait_for_answer(int fd) {
    char answer = '\0';
    while (::read(fd, &answer, 1) < 0 && errno == EINTR) {
    }
}

[[noreturn]] void run_child(namespaces::IdMap map,
                            const namespaces::Pipe& steps,
                            const namespaces::Pipe& answers,
                            const namespaces::Pipe& errors,
                            const std::function<Result<void>(const Report&)>& work) {
    // Names of files are bytes in UTF-8, whatever the user's locale.
    (void)std::setlocale(LC_CTYPE, "C.UTF-8"); // NOLINT: this process has one thread
    const UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (nothing.valid()) {
        (void)::dup2(nothing.get(), STDIN_FILENO);
    }
    const Report report = [&](const StepEvent& event) {
        (void)write_all(steps.write.get(), event_text(event), "steps");
        wait_for_answer(answers.read.get());
    };
    Result<void> result = namespaces::enter_namespaces(map);
    if (result && map == namespaces::IdMap::kOwnRoot) {
        result = namespaces::fake_ownership();
    }
    if (result) {
        result = guarded([&] { return work(report); });
    }
    if (!result) {
        send_error(errors.write.get(), result.error());
    }
    ::_exit(result ? 0 : 1);
}

} // namespace

SignalCatcher::SignalCatcher() {
    caught_signal.store(0);
    struct sigaction action {};
    action.sa_handler = catch_signal; // without SA_RESTART: a wait ends
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
        ::sigaction(kSignals[i], &action, &before_[i]);
    }
}

SignalCatcher::~SignalCatcher() {
    restore();
}

void SignalCatcher::restore() const {
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
        ::sigaction(kSignals[i], &before_[i], nullptr);
    }
}

int SignalCatcher::caught() {
    return caught_signal.load();
}

Result<void> SignalCatcher::check() {
    if (caught() == 0) {
        return {};
    }
    return fail(ErrorCode::kExecution,
                problem("build-interrupted", "the build was interrupted"),
                fmt::format("signal {} ({})", caught(), ::sigabbrev_np(caught())));
}

Result<void> run_apart(namespaces::IdMap map,
                       const SignalCatcher& signals,
                       const Report& report,
                       const std::function<Result<void>(const Report&)>& work) {
    CYBELE_CHECK(SignalCatcher::check());
    CYBELE_TRY(namespaces::Pipe steps, namespaces::make_pipe());
    // Both ends stay open here: writing to a process that has ended would otherwise raise SIGPIPE.
    CYBELE_TRY(namespaces::Pipe answers, namespaces::make_pipe());
    CYBELE_TRY(namespaces::Pipe errors, namespaces::make_pipe());
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child < 0) {
        return fail(system_error("cannot start a process", errno));
    }
    if (child == 0) {
        signals.restore();
        namespaces::die_with_parent(parent);
        run_child(map, steps, answers, errors, work);
    }
    steps.write.reset();
    errors.write.reset();
    Steps reader(report, answers.write.get());
    for (bool open = true; open && SignalCatcher::caught() == 0;) {
        // A signal between the check and poll() would be missed: look again every second.
        pollfd wait{steps.read.get(), POLLIN, 0};
        if (::poll(&wait, 1, 1000) > 0) {
            open = reader.read(steps.read.get());
        }
    }
    if (SignalCatcher::caught() != 0) {
        ::kill(child, SIGKILL);
    }
    const int code = wait_for(child);
    CYBELE_CHECK(SignalCatcher::check());
    return end_of_child(errors.read.get(), code);
}

} // namespace cybele::builder
