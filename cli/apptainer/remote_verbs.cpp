// SPDX-License-Identifier: Apache-2.0
#include "cli/apptainer/remote_verbs.hpp"

#include "registry/oci/credentials.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"
#include "support/yaml.hpp"

#include <algorithm>
#include <filesystem>
#include <map>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::cli {

namespace {

namespace fs = std::filesystem;

constexpr const char* kSystemFile = "/etc/apptainer/remote.yaml";
constexpr std::string_view kTick = "\u2713";
constexpr std::string_view kNotSecure = "\u2717!";

struct Remote {
    std::string uri;
    bool is_system = false;
    bool is_exclusive = false;
    bool is_insecure = false;
    std::vector<yaml::Entry> others; ///< what is not used here stays in the file
};

struct Remotes {
    std::string active;
    std::map<std::string, Remote> all;
    std::vector<yaml::Entry> others;
};

/// As Apptainer installs it.
Remotes installed_remotes() {
    Remotes remotes;
    remotes.active = "DefaultRemote";
    remotes.all[remotes.active] = {"cloud.apptainer.org", true, false, false, {}};
    return remotes;
}

Remote read_remote(const yaml::Node& node) {
    Remote remote;
    for (const yaml::Entry& entry : node.entries) {
        const std::string& key = entry.first.scalar;
        const bool is_on = entry.second.scalar == "true";
        if (key == "URI") {
            remote.uri = entry.second.scalar;
        } else if (key == "System") {
            remote.is_system = is_on;
        } else if (key == "Exclusive") {
            remote.is_exclusive = is_on;
        } else if (key == "Insecure") {
            remote.is_insecure = is_on;
        } else {
            remote.others.push_back(entry);
        }
    }
    return remote;
}

Result<Remotes> read_remotes(const fs::path& file) {
    std::error_code failed;
    if (!fs::exists(file, failed)) {
        return Remotes();
    }
    CYBELE_TRY(const std::string text, read_file(file));
    if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
        return Remotes();
    }
    CYBELE_TRY(const yaml::Document document, yaml::parse(text, file.native()));
    Remotes remotes;
    for (const yaml::Entry& entry : document.root.entries) {
        if (entry.first.scalar == "Active") {
            remotes.active = entry.second.scalar;
        } else if (entry.first.scalar == "Remotes") {
            for (const yaml::Entry& one : entry.second.entries) {
                remotes.all[one.first.scalar] = read_remote(one.second);
            }
        } else {
            remotes.others.push_back(entry);
        }
    }
    return remotes;
}

std::string shown_scalar(const std::string& text, bool is_plain) {
    const bool is_simple =
        !text.empty() && std::isalnum(static_cast<unsigned char>(text.front())) != 0 &&
        std::all_of(text.begin(), text.end(), [](unsigned char c) {
            return std::isalnum(c) != 0 ||
                   std::string_view("._/-").find(static_cast<char>(c)) != std::string_view::npos;
        });
    if (is_simple || (is_plain && !text.empty())) {
        return text;
    }
    std::string quoted = "\"";
    for (const char letter : text) {
        quoted += letter == '"' || letter == '\\' ? std::string("\\") + letter
                  : letter == '\n'                ? std::string("\\n")
                                                  : std::string(1, letter);
    }
    return quoted + '"';
}

void print_entries(std::string& text, const std::vector<yaml::Entry>& entries, std::size_t indent);

/// Behind its key or its `-`, with the end of the line.
void print_value(std::string& text, const yaml::Node& node, std::size_t indent) {
    switch (node.kind) {
    case yaml::Node::Kind::kNull:
        text += " null\n";
        break;
    case yaml::Node::Kind::kScalar:
        text += " " + shown_scalar(node.scalar, node.is_plain) + "\n";
        break;
    case yaml::Node::Kind::kSequence:
        text += node.items.empty() ? " []\n" : "\n";
        for (const yaml::Node& item : node.items) {
            text += std::string(indent, ' ') + "-";
            print_value(text, item, indent + 4);
        }
        break;
    case yaml::Node::Kind::kMapping:
        text += node.entries.empty() ? " {}\n" : "\n";
        print_entries(text, node.entries, indent);
        break;
    }
}

void print_entries(std::string& text, const std::vector<yaml::Entry>& entries, std::size_t indent) {
    for (const auto& [key, value] : entries) {
        text += std::string(indent, ' ') + shown_scalar(key.scalar, key.is_plain) + ":";
        print_value(text, value, indent + 4);
    }
}

std::string text_of(const Remotes& remotes) {
    std::string text = "Active: " + shown_scalar(remotes.active, false) + "\nRemotes:";
    text += remotes.all.empty() ? " {}\n" : "\n";
    for (const auto& [name, remote] : remotes.all) {
        text += fmt::format("    {}:\n        URI: {}\n        System: {}\n        Exclusive: {}\n",
                            shown_scalar(name, false),
                            shown_scalar(remote.uri, false),
                            remote.is_system,
                            remote.is_exclusive);
        text += remote.is_insecure ? "        Insecure: true\n" : "";
        print_entries(text, remote.others, 8);
    }
    print_entries(text, remotes.others, 0);
    return text;
}

tl::unexpected<Error> refuse(Problem problem) {
    return fail(ErrorCode::kInput, std::move(problem));
}

/// The endpoints of the host, as the user's list has them.
Result<void> add_system(const Session& session, Remotes& remotes) {
    std::error_code failed;
    Remotes system = installed_remotes();
    if (fs::exists(kSystemFile, failed)) {
        CYBELE_TRY(system, read_remotes(kSystemFile));
    }
    for (auto& [name, remote] : system.all) {
        const auto known = remotes.all.find(name);
        if (known != remotes.all.end() && !known->second.is_system) {
            session.inform_as_other(printable(name) +
                                    " defined both globally and individually, using individual");
            continue;
        }
        remote.is_system = true;
        remotes.active = remote.is_exclusive ? name : remotes.active;
        remotes.all[name] = remote;
    }
    remotes.active = remotes.active.empty() ? system.active : remotes.active;
    return {};
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
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
    }));
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
    if (call.has("--global") || call.has("--exclusive")) {
        return fail(ErrorCode::kEnvironment,
                    problem("apptainer-option-not-supported",
                            std::string(call.has("--global") ? "--global" : "--exclusive") +
                                " is not supported"),
                    std::string(kSystemFile) + " is the administrator's file",
                    "edit it");
    }
    if (is_add && call.words[1].starts_with("https://")) {
        session.inform_as_other("--insecure ignored for https remote");
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

Result<void> write_remotes(const fs::path& file, const Remotes& remotes, bool is_own) {
    std::error_code failed;
    if (is_own && fs::create_directory(file.parent_path(), failed)) {
        fs::permissions(file.parent_path(), fs::perms::owner_all, failed);
    }
    return write_file(file, text_of(remotes), 0600);
}

} // namespace

Result<int> registry_list(const Session& session) {
    CYBELE_TRY(const std::vector<std::string> hosts,
               registry::login_hosts(registry::login_file({}, session.environment)));
    std::size_t width = std::string_view("URI").size();
    for (const std::string& host : hosts) {
        width = std::max(width, host.size() + std::string_view("docker://").size());
    }
    std::string text = fmt::format("\n{:<{}}  SECURE?\n", "URI", width);
    for (const std::string& host : hosts) {
        text += fmt::format("{:<{}}  \u2713\n", "docker://" + printable(host), width);
    }
    Session::print(text);
    return 0;
}

Result<int> remote_verb(const Session& session, const OtherCall& call) {
    const std::string_view verb = call.verb->verb;
    CYBELE_CHECK(check_flags(session, call));
    const bool is_own = call.group_file.empty();
    const fs::path file =
        is_own ? session.environment.home() / ".apptainer/remote.yaml" : fs::path(call.group_file);
    CYBELE_TRY(Remotes remotes, read_remotes(file));
    if (verb == "remote list" || verb == "remote use") {
        CYBELE_CHECK(add_system(session, remotes));
    }
    if (verb == "remote list") {
        print_remotes(remotes);
        return 0;
    }
    const std::string& name = call.words.front();
    CYBELE_CHECK(verb == "remote add"   ? add_remote(call, remotes)
                 : verb == "remote use" ? set_active(remotes, name)
                                        : remove_remote(name, remotes));
    CYBELE_CHECK(write_remotes(file, remotes, is_own));
    session.inform_as_other(fmt::format("Remote \"{}\" {}.",
                                        printable(name),
                                        verb == "remote add"   ? "added"
                                        : verb == "remote use" ? "now in use"
                                                               : "removed"));
    return 0;
}

} // namespace cybele::cli
