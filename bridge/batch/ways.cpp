// SPDX-License-Identifier: Apache-2.0
#include "bridge/batch/ways.hpp"

#include "submission/backends/services.hpp"
#include "submission/backends/shell_host.hpp"
#include "submission/backends/ssh.hpp"
#include "support/quote.hpp"
#include "support/stamp.hpp"
#include "support/text.hpp"

#include <string_view>
#include <vector>

namespace cybele::bridge {
namespace {

/// What the commands of batch systems read, and the user's identity.
constexpr std::string_view kPassedOn[] = {
    "PATH", "HOME", "USER", "LOGNAME", "LANG", "SLURM_CONF", "PBS_DEFAULT", "PBS_CONF_FILE"};
/// What ssh needs to find its keys; it sends none of it on.
constexpr std::string_view kForSsh[] = {"SSH_AUTH_SOCK"};

constexpr std::int64_t kSecondOfToken = 1'000'000'000;

EnvironmentMap passed_on(const Environment& environment, bool is_ssh) {
    EnvironmentMap kept;
    const auto keep = [&](std::string_view name) {
        if (const auto value = environment.get(name)) {
            kept.emplace(name, *value);
        }
    };
    for (const std::string_view name : kPassedOn) {
        keep(name);
    }
    for (const std::string_view name : kForSsh) {
        if (is_ssh) {
            keep(name);
        }
    }
    return kept;
}

std::vector<std::string> shell_of(const launchers::BridgeConnection& way,
                                  const std::string& account) {
    if (way.uses_sudo && !account.empty()) {
        return {"sudo", "-n", "-H", "-u", account, "--", "sh", "-s"};
    }
    return {"sh", "-s"};
}

} // namespace

std::unique_ptr<submission::Host> host_of(const HostRequest& request) {
    const launchers::BridgeConnection& way = request.way;
    submission::ShellSettings settings;
    settings.name = way_text(way, request.account);
    settings.environment = passed_on(request.environment, !way.ssh.empty());
    settings.is_remote = !way.ssh.empty();
    settings.meanwhile = request.meanwhile;
    settings.argv = shell_of(way, request.account);
    if (!way.ssh.empty()) {
        const std::string remote = "exec " + text::joined(settings.argv, " ");
        settings.argv = submission::SshLogin(way.ssh, request.sockets, request.environment)
                            .command(remote)
                            .argv;
        if (!way.key.empty()) {
            settings.argv.insert(settings.argv.begin() + 1,
                                 {"-i", way.key.native(), "-o", "IdentitiesOnly=yes"});
        }
    }
    return submission::shell_host(std::move(settings));
}

ServiceConnection service_of(const launchers::BridgeConnection& way,
                             const std::string& account,
                             const Environment& environment,
                             const std::filesystem::path& program) {
    if (way.slurmrestd.empty()) {
        return {};
    }
    submission::BackendRequest request;
    request.scheduler = "slurm";
    request.connection.kind = submission::Connection::Kind::kSlurmrestd;
    request.connection.address = way.slurmrestd;
    while (request.connection.address.ends_with('/')) {
        request.connection.address.pop_back();
    }
    request.connection.token_command = way.token_command;
    request.environment = environment;
    request.environment.set("USER", account);
    request.environment.set("SLURM_JWT", ""); // of whoever started the bridge
    request.environment.set("CYBELE_TOKEN_FILE", way.token_file.native());
    request.program = program;
    request.clock = [] { return nanoseconds_now() / kSecondOfToken; };
    ServiceConnection service;
    service.token =
        std::make_unique<submission::Token>(way.token_command, request.environment, request.clock);
    service.backend = submission::slurmrestd_backend(request.connection, request);
    return service;
}

std::optional<Error> check_token(submission::Token& token, const std::string& account) {
    const auto text = token.get();
    if (!text) {
        return text.error();
    }
    const submission::TokenClaims claims = submission::read_claims(*text);
    if (claims.expires != 0 && claims.expires <= nanoseconds_now() / kSecondOfToken) {
        // slurmrestd itself says no more than that slurmctld cannot be reached.
        return fail(ErrorCode::kEnvironment,
                    problem("bridge-token-expired",
                            "the token for " + printable(account) + " has expired"),
                    "Slurm accepts no request with it",
                    "make a new one as that user: scontrol token lifespan=SECONDS")
            .value();
    }
    if (claims.user == account) {
        return std::nullopt;
    }
    return fail(ErrorCode::kEnvironment,
                problem("bridge-token-of-another",
                        "the token for " + printable(account) + " is that of " +
                            (claims.user.empty() ? "no user" : printable(claims.user))),
                "with another user's token jobs would belong to that user, or to anyone",
                "make one as that user: scontrol token")
        .value();
}

std::filesystem::path records_of(const launchers::BridgeAccount& row) {
    return row.way.slurmrestd.empty() ? row.workdir : row.way.records / row.account;
}

std::error_code make_records(const launchers::BridgeAccount& row) {
    std::error_code error;
    if (!row.way.slurmrestd.empty()) {
        std::filesystem::create_directories(records_of(row), error);
    }
    return error;
}

std::string way_text(const launchers::BridgeConnection& way, const std::string& account) {
    if (!way.slurmrestd.empty()) {
        return "slurmrestd " + way.slurmrestd;
    }
    std::string text = way.ssh.empty() ? "this machine" : "ssh " + way.ssh;
    if (way.uses_sudo && !account.empty()) {
        text += ", sudo " + account;
    }
    return text;
}

} // namespace cybele::bridge
