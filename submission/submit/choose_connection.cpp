// SPDX-License-Identifier: Apache-2.0
#include "submission/submit/choose_connection.hpp"

#include "submission/submit/own_site.hpp"
#include "support/own_path.hpp"
#include "support/quote.hpp"

#include <algorithm>

namespace cybele::submission {
namespace {

/// A Site's command runs as the user, and its login gets the user's files: only from a file that
/// others cannot have written.
Result<void>
check_own_site(const launchers::Site& site, const std::string& what, const std::string& option) {
    const auto opened = open_own(site.source.file(), {.group_above = true});
    if (opened) {
        return {};
    }
    const Fault& fault = opened.error().faults().front();
    return fail(ErrorCode::kEnvironment,
                problem("site-command-not-trusted",
                        "the `" + what + "` of " + printable(site.source.file()) + " is not used"),
                fault.because.empty() ? fault.message : fault.because,
                (option.empty() ? std::string() : "give it yourself (" + option + "), or ") +
                    "copy the Site into a folder of your own");
}

/// The field of a Site that decides what a job runs, or whose images; empty: it has none.
std::string deciding_field(const launchers::Site& site) {
    const auto has_commands = [](const launchers::SiteQueue& queue) {
        return !queue.setup.empty() || !queue.teardown.empty();
    };
    const bool has_queue = std::ranges::any_of(site.queues, has_commands);
    return !site.setup.empty() || has_queue                           ? "setup"
           : !site.teardown.empty()                                   ? "teardown"
           : !site.verify_keys.empty() || !site.verify_policy.empty() ? "verify"
           : !site.templates.empty()                                  ? "templates"
           : !site.binds.empty()                                      ? "binds"
                                                                      : "";
}

/// A Site that somebody names may be a colleague's or a group's, but not one that all can write.
Result<void> check_own_fields(const launchers::Site& site) {
    const std::string field = deciding_field(site);
    if (!field.empty() && is_open_to_all(site.source.file())) {
        CYBELE_CHECK(check_own_site(site, field, {}));
    }
    for (const launchers::SiteTemplate& one : site.templates) {
        if (is_open_to_all(one.file)) {
            CYBELE_CHECK(open_own(one.file, {.group_above = true}));
        }
    }
    return {};
}

Result<Connection> connection_of_site(const launchers::Site& site, bool has_command) {
    Connection connection;
    if (site.through == "commands") {
        return connection;
    }
    const auto setting = [&site](const std::string& name) {
        const auto found = site.through_settings.find(name);
        return found == site.through_settings.end() ? std::string() : found->second;
    };
    connection.address = setting(site.through);
    if (site.through == "ssh") {
        CYBELE_CHECK(check_own_site(site, "ssh", "--host"));
        return read_connection(connection.address);
    }
    connection.kind =
        site.through == "rimrock" ? Connection::Kind::kRimrock : Connection::Kind::kSlurmrestd;
    connection.host = setting("host");
    connection.token_command = setting("token-command");
    if (!connection.token_command.empty() && !has_command) {
        CYBELE_CHECK(check_own_site(site, "token-command", "--token-command"));
    }
    CYBELE_CHECK(check_address(connection));
    return connection;
}

} // namespace

Result<Connection> choose_connection(const JobInput& input, const ConnectionChoice& choice) {
    const bool has_command = !choice.token_command.empty();
    CYBELE_TRY(Connection connection,
               !choice.host.empty() ? read_connection(choice.host)
               : input.site         ? connection_of_site(*input.site, has_command)
                                    : Result<Connection>(Connection()));
    if (input.site) {
        CYBELE_CHECK(check_own_fields(*input.site));
    }
    if (!has_command) {
        return connection;
    }
    if (!connection.is_service()) {
        return fail(ErrorCode::kUsage,
                    problem("token-command-unused", "--token-command is for REST services"),
                    "the Site reaches its scheduler by commands or ssh, which use no token",
                    "drop it, or name a Site with `through: {slurmrestd: URL}`");
    }
    connection.token_command = choice.token_command;
    return connection;
}

} // namespace cybele::submission
