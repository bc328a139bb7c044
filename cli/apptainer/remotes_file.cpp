// SPDX-License-Identifier: Apache-2.0
#include "cli/apptainer/remotes_file.hpp"

#include "support/file.hpp"
#include "support/quote.hpp"
#include "support/yaml_print.hpp"

#include <algorithm>
#include <string_view>

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

yaml::Node scalar(const std::string& text) {
    yaml::Node node;
    node.kind = yaml::Node::Kind::kScalar;
    node.scalar = text;
    return node;
}

yaml::Node map_of(std::vector<yaml::Entry> entries) {
    yaml::Node node;
    node.kind = yaml::Node::Kind::kMapping;
    node.entries = std::move(entries);
    return node;
}

yaml::Entry flag(const char* name, bool is_on) {
    return {scalar(name), scalar(is_on ? "true" : "false")};
}

yaml::Node node_of(const Remote& remote) {
    std::vector<yaml::Entry> entries{{scalar("URI"), scalar(remote.uri)},
                                     flag("System", remote.is_system),
                                     flag("Exclusive", remote.is_exclusive)};
    if (remote.is_insecure) {
        entries.push_back(flag("Insecure", true));
    }
    entries.insert(entries.end(), remote.others.begin(), remote.others.end());
    return map_of(std::move(entries));
}

std::string text_of(const Remotes& remotes) {
    constexpr std::size_t kStep = 4; // as Apptainer writes it
    std::vector<yaml::Entry> all;
    all.reserve(remotes.all.size());
    for (const auto& [name, remote] : remotes.all) {
        all.push_back({scalar(name), node_of(remote)});
    }
    std::vector<yaml::Entry> entries{{scalar("Active"), scalar(remotes.active)},
                                     {scalar("Remotes"), map_of(std::move(all))}};
    entries.insert(entries.end(), remotes.others.begin(), remotes.others.end());
    return yaml::to_text(map_of(std::move(entries)), kStep);
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
    return std::ranges::find_if(
        entries, [](const yaml::Entry& entry) { return entry.first.scalar == kLogins; });
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
            session.inform_as_apptainer(
                printable(name) + " defined both globally and individually, using individual");
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
    find_logins(remotes.others)
        ->second.items.push_back(
            map_of({{scalar("URI"), scalar(address)}, flag("Insecure", false)}));
}

} // namespace cybele::cli
