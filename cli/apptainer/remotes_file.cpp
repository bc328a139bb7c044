// SPDX-License-Identifier: Apache-2.0
#include "cli/apptainer/remotes_file.hpp"

#include "support/file.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

namespace cybele::cli {

namespace fs = std::filesystem;

namespace {

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
            if (item.kind == yaml::Node::Kind::kMapping && !item.entries.empty()) {
                std::string lines;
                print_entries(lines, item.entries, indent + 2);
                lines[indent] = '-';
                text += lines;
                continue;
            }
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

yaml::Node scalar(const std::string& text) {
    yaml::Node node;
    node.kind = yaml::Node::Kind::kScalar;
    node.scalar = text;
    node.is_plain = true;
    return node;
}

std::string address_of(const yaml::Node& login) {
    for (const yaml::Entry& entry : login.entries) {
        if (entry.first.scalar == "URI") {
            return entry.second.scalar;
        }
    }
    return {};
}

constexpr std::string_view kLogins = "Credentials";

auto find_logins(std::vector<yaml::Entry>& entries) {
    return std::find_if(entries.begin(), entries.end(), [](const yaml::Entry& entry) {
        return entry.first.scalar == kLogins;
    });
}

} // namespace

/// As Apptainer installs it.
Remotes installed_remotes() {
    Remotes remotes;
    remotes.active = "DefaultRemote";
    remotes.all[remotes.active] = {"cloud.apptainer.org", true, false, false, {}};
    return remotes;
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

Result<void> add_system_remotes(const Session& session, Remotes& remotes) {
    std::error_code failed;
    Remotes system = installed_remotes();
    if (fs::exists(kSystemRemotes, failed)) {
        CYBELE_TRY(system, read_remotes(kSystemRemotes));
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

Result<void> write_remotes(const fs::path& file, const Remotes& remotes, bool is_own) {
    std::error_code failed;
    if (is_own && fs::create_directory(file.parent_path(), failed)) {
        fs::permissions(file.parent_path(), fs::perms::owner_all, failed);
    }
    return write_file(file, text_of(remotes), 0600);
}

fs::path remotes_file(const Session& session, const OtherCall& call) {
    return call.group_file.empty() ? session.environment.home() / ".apptainer/remote.yaml"
                                   : fs::path(call.group_file);
}

std::vector<std::string> login_addresses(const Remotes& remotes) {
    std::vector<std::string> addresses;
    for (const yaml::Entry& entry : remotes.others) {
        for (const yaml::Node& login : entry.second.items) {
            if (entry.first.scalar == kLogins) {
                addresses.push_back(address_of(login));
            }
        }
    }
    return addresses;
}

void remove_login_address(Remotes& remotes, const std::string& address) {
    const auto logins = find_logins(remotes.others);
    if (logins == remotes.others.end()) {
        return;
    }
    std::erase_if(logins->second.items,
                  [&](const yaml::Node& login) { return address_of(login) == address; });
    if (logins->second.items.empty()) {
        remotes.others.erase(logins);
    }
}

void add_login_address(Remotes& remotes, const std::string& address) {
    remove_login_address(remotes, address);
    if (find_logins(remotes.others) == remotes.others.end()) {
        yaml::Node none;
        none.kind = yaml::Node::Kind::kSequence;
        remotes.others.emplace_back(scalar(std::string(kLogins)), none);
    }
    yaml::Node login;
    login.kind = yaml::Node::Kind::kMapping;
    login.entries.emplace_back(scalar("URI"), scalar(address));
    login.entries.emplace_back(scalar("Insecure"), scalar("false"));
    find_logins(remotes.others)->second.items.push_back(std::move(login));
}

} // namespace cybele::cli
