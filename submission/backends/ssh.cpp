// SPDX-License-Identifier: Apache-2.0
#include "submission/backends/ssh.hpp"

#include "submission/backends/command_backend.hpp"
#include "submission/backends/framed.hpp"
#include "submission/backends/host.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"
#include "support/random.hpp"
#include "support/text.hpp"

#include <algorithm>

namespace cybele::submission {
namespace {

namespace fs = std::filesystem;

constexpr int kOfSsh = 255; ///< its own faults; also a remote shell that was killed
/// What ssh says before it starts a command there, at the beginning of a line, or behind a name.
constexpr std::string_view kBeforeTheStart[] = {"ssh: connect to host ",
                                                "ssh: Could not resolve hostname ",
                                                "Host key verification failed.",
                                                "kex_exchange_identification: ",
                                                ": Permission denied ("};
constexpr std::chrono::seconds kConnect{30};
/// Characters before the 40 of %C and the 17 that ssh adds while it makes one; the kernel takes
/// 108.
constexpr std::size_t kLongestSocket = 49;

/// Whether ssh never came so far that it started anything there. Its last line says so: what a
/// login shell prints comes before it.
bool never_began(const Outcome& outcome) {
    const std::string_view said = text::trimmed(outcome.errors);
    const std::size_t end = said.rfind('\n');
    const std::string_view last = end == std::string_view::npos ? said : said.substr(end + 1);
    return !outcome.timed_out && outcome.code == kOfSsh && outcome.output.empty() &&
           std::ranges::any_of(kBeforeTheStart, [last](std::string_view words) {
               return words.starts_with(':') ? last.find(words) != std::string_view::npos
                                             : last.starts_with(words);
           });
}

class Ssh : public Host {
public:
    explicit Ssh(SshLogin login) : login_(std::move(login)) {}

    Result<Answers> exchange(const std::vector<Call>& calls,
                             const std::vector<Reading>& readings) override {
        const std::string nonce = new_nonce();
        Command command = login_.command("exec sh -s"); // for every login shell, csh too
        command.input = framed_script(calls, readings, nonce, login_.kept_path());
        std::chrono::seconds limit = kConnect;
        for (const Call& call : calls) {
            limit += call.limit;
        }
        command.limit = limit;
        CYBELE_TRY(const Outcome outcome, run_process(command));
        auto answers = read_frames(outcome.output, calls.size(), readings.size(), nonce);
        if (!answers) {
            return fail(login_.broken(outcome));
        }
        login_.keep_path(answers->login_path);
        return std::move(*answers);
    }

private:
    SshLogin login_;
};

} // namespace

std::string new_nonce() {
    const auto random = random_bytes(12);
    const std::vector<std::uint8_t> bytes(random.begin(), random.end());
    return "cybelectl-" + hex(bytes);
}

Command SshLogin::command(const std::string& remote) const {
    Command command;
    command.environment = environment_.all();
    command.argv = {"ssh",
                    "-T",
                    "-o",
                    "BatchMode=yes",
                    "-o",
                    "ConnectTimeout=20",
                    "-o",
                    "ServerAliveInterval=15",
                    "-o",
                    "ServerAliveCountMax=3"};
    if (sockets_.native().size() <= kLongestSocket && make_directories(sockets_, 0700)) {
        command.argv.insert(command.argv.end(),
                            {"-o",
                             "ControlMaster=auto",
                             "-o",
                             "ControlPersist=60",
                             "-o",
                             "ControlPath=" + sockets_.native() + "/%C"});
    }
    command.argv.insert(command.argv.end(), {"--", login_, remote});
    return command;
}

fs::path SshLogin::path_file() const {
    constexpr std::size_t kDigits = 32; // a login may hold any letter, a file's name may not
    return sockets_ / ("path-" + hex(sha256(login_)).substr(0, kDigits));
}

std::string SshLogin::kept_path() const {
    const auto text = sockets_.empty() ? Result<std::string>() : read_file(path_file());
    return text ? *text : std::string();
}

void SshLogin::keep_path(const std::string& path) const {
    if (!path.empty() && !sockets_.empty() && make_directories(sockets_, 0700)) {
        (void)write_file(path_file(), path, 0600); // else the next call asks again
    }
}

Error SshLogin::broken(const Outcome& outcome) const {
    std::string because = "the connection ended before the answer was complete";
    if (outcome.timed_out) {
        because = "no answer came within the time limit";
    } else if (outcome.code == kOfSsh && !text::trimmed(outcome.errors).empty()) {
        because = text::trimmed(outcome.errors);
    }
    std::string help = "see whether `ssh " + login_ + "` works without a password";
    if (text::contains_any(because, {"HOST IDENTIFICATION HAS CHANGED"})) {
        because = "the host's key is another than the one that is known";
        const std::string host = login_.substr(login_.rfind('@') + 1);
        help = "ask the support of the site for the fingerprint of the new key of " + host +
               "; if `ssh-keyscan " + host + " | ssh-keygen -lf -` prints the same, " +
               "`ssh-keygen -R " + host + "` removes the old key";
    }
    std::replace(because.begin(), because.end(), '\n', ' ');
    return {never_began(outcome) ? ErrorCode::kEnvironment : ErrorCode::kExecution,
            problem("login-unreachable",
                    "the login " + printable(login_) + " cannot be reached by ssh"),
            printable(because),
            help};
}

std::unique_ptr<Host>
behind_ssh(const std::string& login, const fs::path& sockets, const Environment& environment) {
    return std::make_unique<Ssh>(SshLogin(login, sockets, environment));
}

} // namespace cybele::submission
