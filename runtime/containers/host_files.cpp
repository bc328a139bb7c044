// SPDX-License-Identifier: Apache-2.0
#include "runtime/containers/host_files.hpp"

#include "runtime/namespaces/accounts.hpp"
#include "support/file.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <array>

#include <unistd.h>

namespace cybele::runtime {
namespace {

using namespaces::account_field;

constexpr std::size_t kId = 2;
constexpr std::size_t kHome = 5;
constexpr std::size_t kFields = 7; // of passwd(5)

std::string with_home(std::string_view line, const std::filesystem::path& home) {
    std::string changed;
    for (std::size_t i = 0; i < kFields; ++i) {
        changed += (i == 0 ? "" : ":") + (i == kHome ? home.string() : account_field(line, i));
    }
    return changed;
}

std::string group_entry(gid_t gid, const std::string& user, bool ask_directory) {
    std::optional<std::string> line;
    if (ask_directory) {
        line = namespaces::group_line(gid);
    } else { // a directory service is asked for one group only: each question costs milliseconds
        const std::string groups = read_file("/etc/group").value_or("");
        for (const std::string_view one : text::split_terminated(groups, '\n')) {
            line = account_field(one, kId) == std::to_string(gid) ? std::string(one) : line;
        }
    }
    if (!line) {
        return ask_directory ? user + ":x:" + std::to_string(gid) + ':' : std::string();
    }
    return account_field(*line, 0) + ":x:" + std::to_string(gid) + ':' + user;
}

} // namespace

Caller this_caller(const std::filesystem::path& home, const std::string& user) {
    Caller caller;
    caller.uid = geteuid();
    caller.gid = getegid();
    const auto line = namespaces::passwd_line(caller.uid);
    const bool is_plain = user.find_first_of(":\n") == std::string::npos && !user.empty();
    caller.passwd = line ? *line
                         : (is_plain ? user : "user") + ":x:" + std::to_string(caller.uid) + ':' +
                               std::to_string(caller.gid) + "::" + home.string() + ":/bin/sh";
    const std::string name = account_field(caller.passwd, 0);
    caller.groups.push_back(group_entry(caller.gid, name, true));
    std::array<gid_t, 64> others = {};
    const int count = getgroups(static_cast<int>(others.size()), others.data());
    for (int i = 0; i < count; ++i) {
        const gid_t gid = others.at(static_cast<std::size_t>(i));
        std::string entry = gid == caller.gid ? std::string() : group_entry(gid, name, false);
        if (!entry.empty()) {
            caller.groups.push_back(std::move(entry));
        }
    }
    return caller;
}

bool has_account(std::string_view text, id_t id) {
    const auto lines = text::split_terminated(text, '\n');
    return std::ranges::any_of(lines, [&](std::string_view line) {
        return account_field(line, kId) == std::to_string(id);
    });
}

std::string
merge_passwd(const std::string& image, const Caller& caller, const std::filesystem::path& home) {
    const bool is_home_plain = home.string().find_first_of(":\n") == std::string::npos;
    const std::filesystem::path shown = is_home_plain ? home : "/";
    std::string merged;
    bool is_there = false;
    for (const std::string_view line : text::split_terminated(image, '\n')) {
        const bool is_own = !is_there && account_field(line, kId) == std::to_string(caller.uid);
        is_there = is_there || is_own;
        merged += (is_own ? with_home(line, shown) : std::string(line)) + '\n';
    }
    if (!is_there) {
        merged += with_home(caller.passwd, shown) + '\n';
    }
    return merged;
}

std::string merge_group(const std::string& image, const Caller& caller, bool adds_all) {
    std::string merged = image;
    if (!merged.empty() && merged.back() != '\n') {
        merged += '\n';
    }
    const std::size_t own = merged.size();
    for (const std::string& entry : caller.groups) {
        const std::string_view known = adds_all ? std::string_view(merged).substr(own) : image;
        const auto lines = text::split_terminated(known, '\n');
        const bool is_there = std::ranges::any_of(lines, [&](std::string_view line) {
            return account_field(line, kId) == account_field(entry, kId);
        });
        merged += is_there ? "" : entry + '\n';
    }
    return merged;
}

} // namespace cybele::runtime
