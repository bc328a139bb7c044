// SPDX-License-Identifier: Apache-2.0
#include "submission/backends/shell_host.hpp"

#include "submission/backends/command_backend.hpp"
#include "submission/backends/framed.hpp"
#include "submission/backends/ssh.hpp"
#include "support/quote.hpp"

namespace cybele::submission {
namespace {

constexpr std::chrono::seconds kStartOfShell{30};

class ShellHost : public Host {
public:
    explicit ShellHost(ShellSettings settings) : settings_(std::move(settings)) {}

    Result<Answers> exchange(const std::vector<Call>& calls,
                             const std::vector<Reading>& readings) override {
        const std::string nonce = new_nonce();
        Command command;
        command.argv = settings_.argv;
        command.environment = settings_.environment;
        command.input = framed_script(calls, readings, nonce, login_path_);
        command.meanwhile = settings_.meanwhile ? *settings_.meanwhile : nullptr;
        std::chrono::seconds limit = kStartOfShell;
        for (const Call& call : calls) {
            limit += call.limit;
        }
        command.limit = limit;
        CYBELE_TRY(const Outcome outcome, run_process(command));
        auto answers = read_frames(outcome.output, calls.size(), readings.size(), nonce);
        if (!answers) {
            return fail(broken(outcome, outcome.output.find(nonce + " begin\n")));
        }
        if (!answers->login_path.empty()) {
            login_path_ = answers->login_path;
        }
        return std::move(*answers);
    }

private:
    /// On this machine, without its first line the shell did not begin, so no call did.
    [[nodiscard]] Error broken(const Outcome& outcome, std::size_t begin) const {
        const bool never_began =
            !settings_.is_remote && begin == std::string::npos && !outcome.timed_out;
        return {never_began ? ErrorCode::kEnvironment : ErrorCode::kExecution,
                problem("account-shell-failed",
                        "no commands can be run as " + printable(settings_.name)),
                printable(words_of(outcome)),
                "see whether `" + shell_join(settings_.argv) + "` works without a password"};
    }

    ShellSettings settings_;
    std::string login_path_;
};

} // namespace

std::unique_ptr<Host> shell_host(ShellSettings settings) {
    return std::make_unique<ShellHost>(std::move(settings));
}

} // namespace cybele::submission
