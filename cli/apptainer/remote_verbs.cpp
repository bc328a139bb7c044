// SPDX-License-Identifier: Apache-2.0
#include "cli/apptainer/remote_verbs.hpp"

#include "cli/apptainer/remotes_file.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>

#include <fmt/format.h>
#include <unistd.h>

namespace cybele::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTick = "\u2713";
constexpr std::string_view kNotSecure = "\u2717!";

tl::unexpected<Error> refuse(Problem problem) {
    return fail(ErrorCode::kInput, std::move(problem));
}

Result<void> set_active(Remotes& remotes, const std::string& name) {
    if (!remotes.all.contains(name)) {
        return refuse(problem("remote-unknown", printable(name) + " is not a remote"));
    }
    for (const auto& [other, remote] : remotes.all) {
        if (remote.is_exclusive && name != remotes.active) {
            return refuse(problem("remote-exclusive",
                                  "could not use " + printable(name) + ": remote " +
                                      printable(other) +
                                      " has been set exclusive by the system administrator"));
        }
    }
    remotes.active = name;
    return {};
}

/// "https://host/path" and "host/path" are "host/path".
std::string place_of(std::string uri) {
    const std::size_t scheme = uri.find("://");
    uri.erase(0, scheme == std::string::npos ? 0 : scheme + 3);
    while (uri.ends_with('/')) {
        uri.pop_back();
    }
    return uri;
}

bool is_blank(const std::string& text) {
    return text.find_first_not_of(" \t\r\n") == std::string::npos;
}

Result<void> add_remote(const OtherCall& call, Remotes& remotes) {
    const std::string& name = call.words[0];
    const std::string& uri = call.words[1];
    if (is_blank(name)) {
        return refuse(problem("remote-name-empty", "invalid name: cannot have empty name"));
    }
    if (is_blank(uri)) {
        return refuse(problem("remote-address-empty", "invalid URI: cannot have empty URI"));
    }
    if (remotes.all.contains(name)) {
        return refuse(problem("remote-exists", printable(name) + " is already a remote"));
    }
    Remote added;
    added.uri = place_of(uri);
    added.is_insecure = call.has("--insecure") && !uri.starts_with("https://");
    remotes.all[name] = added;
    return call.has("--no-default") ? Result<void>() : set_active(remotes, name);
}

Result<void> remove_remote(const std::string& name, Remotes& remotes) {
    const auto known = remotes.all.find(name);
    if (known == remotes.all.end()) {
        return refuse(problem("remote-unknown", printable(name) + " is not a remote"));
    }
    if (known->second.is_system) {
        return refuse(
            problem("remote-global", printable(name) + " is global and can't be removed"));
    }
    remotes.all.erase(known);
    remotes.active = remotes.active == name ? "" : remotes.active;
    return {};
}

std::size_t width_of(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count_if(
        text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

void print_remotes(const Remotes& remotes) {
    std::vector<std::vector<std::string>> rows = {
        {"NAME", "URI", "DEFAULT?", "GLOBAL?", "EXCLUSIVE?", "SECURE?"}};
    const auto tick = [](bool is_so) { return std::string(is_so ? kTick : ""); };
    for (const auto& [name, remote] : remotes.all) {
        rows.push_back({printable(name),
                        printable(remote.uri),
                        tick(name == remotes.active),
                        tick(remote.is_system),
                        tick(remote.is_exclusive),
                        std::string(remote.is_insecure ? kNotSecure : kTick)});
    }
    std::string text = "\n";
    for (const auto& row : rows) {
        for (std::size_t column = 0; column < row.size(); ++column) {
            std::size_t width = 0;
            for (const auto& other : rows) {
                width = std::max(width, width_of(other[column]));
            }
            const bool is_last = column + 1 == row.size();
            text += row[column] +
                    (is_last ? "\n" : std::string(width + 2 - width_of(row[column]), ' '));
        }
    }
    Session::print(text);
}

/// What is refused whatever the list has.
Result<void> check_flags(const Session& session, const OtherCall& call) {
    const bool is_add = call.verb->verb == "remote add";
    if (::getuid() != 0 && call.has("--exclusive")) {
        return refuse(problem("remote-exclusive-not-root",
                              "unable to set endpoint as exclusive: not root user"));
    }
    if (::getuid() != 0 && call.has("--global")) {
        return refuse(
            problem("remote-global-not-root",
                    "Unable to modify global endpoint configuration file: not root user"));
    }
    if (is_add && call.words[1].starts_with("https://")) {
        session.inform_as_apptainer("--insecure ignored for https remote");
    }
    if (is_add && call.words[1].starts_with("http://") && !call.has("--insecure")) {
        return refuse(problem("remote-not-secure",
                              "http URI requires --insecure or APPTAINER_ADD_INSECURE=true"));
    }
    if (is_add && !call.has("--no-login")) {
        return fail(ErrorCode::kEnvironment,
                    problem("apptainer-command-not-supported",
                            "`remote add` without --no-login is not supported"),
                    "no access tokens are stored",
                    "write --no-login");
    }
    return {};
}

/// The endpoints of the machine, which root may change.
void open_system_remotes(Remotes& remotes) {
    if (remotes.all.empty()) {
        remotes = installed_remotes();
    }
    for (auto& [name, remote] : remotes.all) {
        remote.is_system = false;
    }
}

/// With `exclusive`, that one is the only one that users may use.
void close_system_remotes(Remotes& remotes, const std::string& exclusive) {
    for (auto& [name, remote] : remotes.all) {
        remote.is_system = true;
        remote.is_exclusive = exclusive.empty() ? remote.is_exclusive : name == exclusive;
    }
}

} // namespace

Result<int> remote_verb(const Session& session, const OtherCall& call) {
    const std::string_view verb = call.verb->verb;
    CYBELE_CHECK(check_flags(session, call));
    const bool is_own = call.group_file.empty();
    const bool is_global = call.has("--global") || call.has("--exclusive");
    const fs::path file = is_global ? fs::path(kSystemRemotes) : remotes_file(session, call);
    CYBELE_TRY(Remotes remotes, read_remotes(file));
    if (is_global) {
        open_system_remotes(remotes);
    } else if (verb == "remote list" || verb == "remote use") {
        CYBELE_CHECK(add_system_remotes(session, remotes));
    }
    if (verb == "remote list") {
        print_remotes(remotes);
        return 0;
    }
    const std::string& name = call.words.front();
    CYBELE_CHECK(verb == "remote add"   ? add_remote(call, remotes)
                 : verb == "remote use" ? set_active(remotes, name)
                                        : remove_remote(name, remotes));
    if (is_global) {
        close_system_remotes(remotes, call.has("--exclusive") ? name : std::string());
    }
    std::error_code failed;
    const fs::file_status before = fs::status(file, failed);
    CYBELE_CHECK(write_remotes(file, remotes, is_own));
    if (is_global) { // every user reads it, unless root has closed it, for it may hold tokens
        fs::permissions(file, fs::exists(before) ? before.permissions() : fs::perms(0644), failed);
    }
    session.inform_as_apptainer(fmt::format("Remote \"{}\" {}.",
                                            printable(name),
                                            verb == "remote add"   ? "added"
                                            : verb == "remote use" ? "now in use"
                                                                   : "removed"));
    return 0;
}

Result<std::optional<int>> endpoint_access(const Session& session, const OtherCall& call) {
    const fs::path file = remotes_file(session, call);
    CYBELE_TRY(Remotes remotes, read_remotes(file));
    CYBELE_CHECK(add_system_remotes(session, remotes));
    const auto meant = remotes.all.find(call.words.empty() ? remotes.active : call.words.front());
    if (meant == remotes.all.end()) {
        return std::optional<int>();
    }
    if (call.verb->verb == "remote logout") {
        std::erase_if(meant->second.others,
                      [](const yaml::Entry& entry) { return entry.first.scalar == "Token"; });
        CYBELE_CHECK(write_remotes(file, remotes, call.group_file.empty()));
        session.inform_as_apptainer("Logout succeeded");
        return std::optional<int>(0);
    }
    std::string token = "of a terminal";
    if (::isatty(STDIN_FILENO) == 0) {
        Session::print(
            fmt::format("Generate an access token at {}://{}/auth/tokens, and paste it here.\n"
                        "Token entered will be hidden for security.\nAccess Token: ",
                        meant->second.is_insecure ? "http" : "https",
                        printable(meant->second.uri)));
        token.clear();
        std::getline(std::cin, token);
        Session::print("\n");
    }
    if (token.empty()) { // as there, who gives none has changed one's mind
        return std::optional<int>(0);
    }
    return fail(ErrorCode::kEnvironment,
                problem("apptainer-command-not-supported",
                        "`remote login` of an endpoint is not supported"),
                "no access tokens are stored",
                "log in to a registry: `registry login`");
}

} // namespace cybele::cli
