// SPDX-License-Identifier: Apache-2.0
#include "cli/apptainer/keyserver_verbs.hpp"

#include "cli/apptainer/remotes_file.hpp"
#include "support/quote.hpp"

#include <string>

#include <fmt/format.h>

namespace cybele::cli {

namespace {

constexpr std::string_view kUsualEndpoint = "cloud.apptainer.org";

Result<Remotes> all_remotes(const Session& session, const OtherCall& call) {
    CYBELE_TRY(Remotes remotes, read_remotes(remotes_file(session, call)));
    CYBELE_CHECK(add_system_remotes(session, remotes));
    return remotes;
}

std::string servers_of(const Remote& remote) {
    std::string text;
    int number = 0;
    for (const yaml::Entry& entry : remote.others) {
        for (const yaml::Node& server : entry.second.items) {
            std::string address;
            bool is_skipped = entry.first.scalar != "Keyservers";
            bool is_insecure = false;
            for (const yaml::Entry& field : server.entries) {
                const bool is_on = field.second.scalar == "true";
                address = field.first.scalar == "URI" ? field.second.scalar : address;
                is_skipped = is_skipped || (field.first.scalar == "Skip" && is_on);
                is_insecure = is_insecure || (field.first.scalar == "Insecure" && is_on);
            }
            text += is_skipped ? std::string()
                               : fmt::format("   #{}  {}  {}\n",
                                             ++number,
                                             printable(address),
                                             is_insecure ? "" : "\U0001F512");
        }
    }
    if (!text.empty()) {
        return text;
    }
    return remote.uri == kUsualEndpoint
               ? "   #1  https://keys.openpgp.org  \U0001F512\n"
               : "   (unable to fetch associated keyserver info for this endpoint)\n";
}

} // namespace

Result<int> list_key_servers(const Session& session, const OtherCall& call) {
    CYBELE_TRY(const Remotes remotes, all_remotes(session, call));
    const std::string wanted = call.words.empty() ? std::string() : call.words.front();
    if (!wanted.empty() && !remotes.all.contains(wanted)) {
        return fail(
            ErrorCode::kInput,
            problem("remote-unknown",
                    "no remote-endpoint with the name \"" + printable(wanted) + "\" found"));
    }
    std::string text;
    for (const auto& [name, remote] : remotes.all) {
        if (wanted.empty() || wanted == name) {
            text += fmt::format("\n{} {}{}\n{}",
                                printable(name),
                                remote.is_system ? "*" : "",
                                name == remotes.active ? "^" : "",
                                servers_of(remote));
        }
    }
    Session::print(text + "\n(* = system endpoint, ^ = default endpoint)\n");
    return 0;
}

Result<int> show_remote_status(const Session& session, const OtherCall& call) {
    const std::string name = call.words.empty() ? std::string() : call.words.front();
    session.inform_as_apptainer(name.empty() ? std::string("Checking status of default remote.")
                                             : "Checking status of remote: " + printable(name));
    CYBELE_TRY(const Remotes remotes, all_remotes(session, call));
    if (!name.empty() && !remotes.all.contains(name)) {
        return fail(ErrorCode::kInput,
                    problem("remote-unknown", printable(name) + " is not a remote"));
    }
    return fail(ErrorCode::kEnvironment,
                problem("apptainer-command-not-supported",
                        "`" + session.apptainer_name + " remote status` is not supported"),
                "cybelectl has no central service",
                "name the host in the address, and log in by `registry login`");
}

} // namespace cybele::cli
