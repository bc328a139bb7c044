// SPDX-License-Identifier: Apache-2.0
#include "runtime/namespaces/accounts.hpp"

#include "support/file.hpp"
#include "support/process.hpp"
#include "support/text.hpp"

#include <charconv>
#include <map>
#include <sstream>
#include <vector>

namespace cybele::namespaces {
namespace {

constexpr std::size_t kIdField = 2; // of passwd(5) and group(5)

std::optional<std::string> line_of_id(const std::string& text, const std::string& id) {
    const std::string mark = ':' + id + ':'; // few lines have it in any field
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
        const std::size_t begin = text.rfind('\n', at) + 1; // of the first line: 0
        std::string line = text.substr(begin, text.find('\n', at) - begin);
        if (account_field(line, kIdField) == id) {
            return line;
        }
    }
    return std::nullopt;
}

/// Whether nsswitch.conf(5) names no source for this database but its file, which was read already.
bool is_in_files_only(const char* database) {
    const std::string text = read_file("/etc/nsswitch.conf").value_or("");
    for (const std::string_view line : text::split_terminated(text, '\n')) {
        std::istringstream words{std::string(line.substr(0, line.find('#')))};
        std::string word;
        if (words >> word; word != std::string(database) + ':') {
            continue;
        }
        std::size_t sources = 0;
        for (; words >> word; ++sources) {
            if (word != "files") {
                return false;
            }
        }
        return sources > 0;
    }
    return false;
}

/// The answer of getent(1), which also knows directory services. A start needs the same line more
/// than once, and each question costs about as much as the start itself.
const std::string& ask_getent(const char* database, const std::string& id) {
    thread_local std::map<std::string, std::string> answers;
    const auto [place, is_new] = answers.try_emplace(std::string(database) + ' ' + id);
    if (is_new && !is_in_files_only(database)) {
        Command command;
        command.argv = {"getent", database, id};
        const auto outcome = run_process(command);
        if (outcome && outcome->ok()) {
            place->second = outcome->output;
        }
    }
    return place->second;
}

std::optional<std::string> find_line(const char* database, unsigned id) {
    const std::string number = std::to_string(id);
    if (const auto text = read_file(std::string("/etc/") + database)) {
        if (auto line = line_of_id(*text, number)) {
            return line;
        }
    }
    return line_of_id(ask_getent(database, number), number);
}

unsigned long number_of(const std::string& text) {
    unsigned long value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() ? value : 0;
}

/// `getsubids [-g] NAME` prints "0: NAME START COUNT"; it knows ranges of directory services.
std::vector<SubordinateRange> ask_getsubids(bool is_group, const std::string& user) {
    Command command;
    command.argv = {"getsubids"};
    if (is_group) {
        command.argv.emplace_back("-g");
    }
    command.argv.push_back(user);
    std::vector<SubordinateRange> ranges;
    const auto outcome = run_process(command);
    if (!outcome || !outcome->ok()) {
        return ranges;
    }
    std::istringstream words(outcome->output);
    for (std::string number, name, start, count; words >> number >> name >> start >> count;) {
        ranges.push_back({number_of(start), number_of(count)});
    }
    return ranges;
}

} // namespace

std::string account_field(std::string_view line, std::size_t number) {
    const auto fields = text::split_terminated(line, ':');
    return number < fields.size() ? std::string(fields[number]) : std::string();
}

std::optional<std::string> passwd_line(uid_t uid) {
    return find_line("passwd", uid);
}

std::optional<std::string> group_line(gid_t gid) {
    return find_line("group", gid);
}

Result<SubordinateRange>
subordinate_range(const std::filesystem::path& file, uid_t uid, unsigned long needed) {
    const auto account = passwd_line(uid);
    const std::string user = account ? account_field(*account, 0) : std::to_string(uid);
    std::vector<SubordinateRange> ranges;
    const std::string text = read_file(file).value_or("");
    for (const std::string_view line : text::split_terminated(text, '\n')) {
        const std::string owner = account_field(line, 0);
        if (owner == user || owner == std::to_string(uid)) {
            ranges.push_back(
                {number_of(account_field(line, 1)), number_of(account_field(line, 2))});
        }
    }
    if (ranges.empty()) {
        ranges = ask_getsubids(file.filename() == "subgid", user);
    }
    for (const SubordinateRange& range : ranges) {
        if (range.count >= needed) {
            return range;
        }
    }
    const std::string wanted = std::to_string(needed);
    return fail(ErrorCode::kEnvironment,
                problem("subordinate-ids-missing",
                        "user '" + user + "' may not map a range of " + wanted + " ids"),
                file.string() +
                    (ranges.empty() ? " has no line for this user" : " grants this user fewer ids"),
                "as root: echo '" + user + ":100000:" + wanted + "' >> " + file.string() +
                    " (a range that no other line uses)");
}

} // namespace cybele::namespaces
