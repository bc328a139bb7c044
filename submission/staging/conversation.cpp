// SPDX-License-Identifier: Apache-2.0
#include "submission/staging/conversation.hpp"

#include "support/quote.hpp"

#include <utility>

namespace cybele::submission {
namespace {

/// The same text for every login shell, csh too. Its standard input is the script's length, the
/// script, and then what the script reads: `read` and `dd` take a byte at a time, so that nothing
/// of that is lost to them.
constexpr const char* kRemote =
    R"sh(exec sh -c 'read -r n && eval "$(dd bs=1 count=$n 2>/dev/null)"')sh";

/// Before every script; the folder is made where that is asked (`1`).
constexpr std::string_view kPrologue = R"sh(LC_ALL=C; export LC_ALL
IFS= read -r n; IFS= read -r w; read -r m
echo "$n begin"
[ "$m" = 0 ] || e=$(mkdir -p "$w" 2>&1) || { echo "$n refused $e"; exit 1; }
e=$(cd "$w" 2>&1) || { echo "$n refused $e"; exit 1; }
cd "$w"
)sh";

/// Lets through what stands behind the line `NONCE begin`.
class Gate {
public:
    Gate(const std::string& nonce, const std::function<bool(std::string_view)>& take)
        : begin_(nonce + " begin\n"), take_(take) {}

    bool pass(std::string_view piece) {
        if (is_open_) {
            return take_(piece);
        }
        greeting_ += piece;
        const std::size_t at = greeting_.find(begin_);
        if (at == std::string::npos) {
            return true;
        }
        is_open_ = true;
        const std::string rest = greeting_.substr(at + begin_.size());
        return rest.empty() || take_(rest);
    }

private:
    std::string begin_;
    std::string greeting_;
    const std::function<bool(std::string_view)>& take_;
    bool is_open_ = false;
};

} // namespace

Result<Outcome>
converse(const SshLogin& login, const std::string& nonce, const Conversation& conversation) {
    const std::string script = std::string(kPrologue) + std::string(conversation.script);
    Gate gate(nonce, conversation.take);
    Command command = login.command(kRemote);
    command.input = std::to_string(script.size()) + "\n" + script + nonce + "\n" +
                    conversation.folder.native() + (conversation.makes_folder ? "\n1\n" : "\n0\n");
    command.more_input = conversation.more;
    command.take_output = [&gate](std::string_view piece) { return gate.pass(piece); };
    return run_process(command);
}

Error broken_off(const SshLogin& login, const Outcome& outcome, std::string_view doing) {
    Fault fault = login.broken(outcome).faults().front();
    if (fault.code == ErrorCode::kExecution) {
        fault.code = ErrorCode::kEnvironment;
        fault.message =
            "the connection to " + printable(login.name()) + " broke while " + std::string(doing);
        fault.help += "; try again: the transfer is resumed";
    }
    return Error(std::move(fault));
}

} // namespace cybele::submission
