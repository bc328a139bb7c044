// SPDX-License-Identifier: Apache-2.0
#include "bridge/ways.hpp"

#include "submission/backends/shell_host.hpp"
#include "submission/backends/ssh.hpp"
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

std::vector<std::string> shell_of(const launchers::BridgeWay& way, const std::string& account) {
    if (way.uses_sudo && !account.empty()) {
        return {"sudo", "-n", "-H", "-u", account, "--", "sh", "-s"};
    }
    return {"sh", "-s"};
}

} // namespace

std::unique_ptr<submission::Host> host_of(const WayRequest& request) {
    const launchers::BridgeWay& way = request.way;
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

std::string way_text(const launchers::BridgeWay& way, const std::string& account) {
    std::string text = way.ssh.empty() ? "this machine" : "ssh " + way.ssh;
    if (way.uses_sudo && !account.empty()) {
        text += ", sudo " + account;
    }
    return text;
}

} // namespace cybele::bridge
