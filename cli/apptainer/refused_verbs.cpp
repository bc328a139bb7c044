// SPDX-License-Identifier: Apache-2.0
#include "cli/apptainer/refused_verbs.hpp"

#include "cli/run/flag_words.hpp"
#include "support/find.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include <fmt/format.h>

namespace cybele::cli {

namespace {

struct RefusedFlags {
    std::string_view verb;
    std::string_view switches;
    std::string_view values; ///< flags that take one
};

// clang-format off
constexpr RefusedFlags kRefusedFlags[] = {
    {"keyserver add", "-i,--insecure", "-o,--order"},
    {"keyserver login", "--password-stdin", "-p,--password,-u,--username"},
    {"capability add", "", "-g,--group,-u,--user"},
    {"capability drop", "", "-g,--group,-u,--user"},
    {"checkpoint instance", "", "-H,--home"},
    {"config fakeroot", "-a,--add,-d,--disable,-e,--enable,-r,--remove", ""},
    {"oci create", "--empty-process", "-b,--bundle,--log-format,-l,--log-path,--pid-file,-s,--sync-socket"},
    {"oci run", "", "-b,--bundle,--log-format,-l,--log-path,--pid-file,-s,--sync-socket"},
    {"oci kill", "-f,--force", "-s,--signal,-t,--timeout"},
    {"oci state", "", "-s,--sync-socket"},
    {"oci update", "", "-f,--from-file"},
    {"plugin compile", "", "-o,--out"},
    {"delete", "-F,--force,--no-https", "-A,--arch,--library"},
    {"search", "--signed", "--arch,--library"},
};
// clang-format on

bool has_flag(std::string_view list, std::string_view name) {
    const auto words = text::split_terminated(list, ',');
    return contains(words, name);
}

std::optional<bool> takes_value(std::string_view verb, std::string_view name) {
    for (const RefusedFlags& row : kRefusedFlags) {
        if (row.verb == verb && has_flag(row.values, name)) {
            return true;
        }
        if (row.verb == verb && has_flag(row.switches, name)) {
            return false;
        }
    }
    return std::nullopt;
}

bool is_config(std::string_view word) {
    return word == "-c" || word == "--config";
}

} // namespace

Result<void>
check_refused_words(const std::vector<std::string>& words, std::size_t at, const OtherVerb& verb) {
    const auto parts =
        static_cast<std::size_t>(1 + std::count(verb.verb.begin(), verb.verb.end(), ' '));
    CYBELE_TRY(const FlagWords read,
               read_flag_words(
                   words,
                   at + parts,
                   [&](std::string_view name) { return takes_value(verb.verb, name); },
                   false));
    const std::size_t count = read.rest.size();
    if (count >= verb.least && count <= verb.most) {
        return {};
    }
    return fail(ErrorCode::kUsage,
                problem("apptainer-command-line",
                        fmt::format("accepts {} arg(s), received {}",
                                    verb.least == verb.most
                                        ? std::to_string(verb.least)
                                        : fmt::format("between {} and {}", verb.least, verb.most),
                                    count)));
}

std::string take_group_file(std::vector<std::string>& words, std::size_t at) {
    std::string file;
    if (at >= words.size() || (words[at] != "remote" && words[at] != "keyserver")) {
        return file;
    }
    const auto first = words.begin() + static_cast<std::ptrdiff_t>(at) + 1;
    if (words.end() - first > 1 && is_config(*first)) {
        file = *(first + 1);
        words.erase(first, first + 2);
    } else if (first != words.end() &&
               (first->starts_with("--config=") || first->starts_with("-c="))) {
        file = first->substr(first->find('=') + 1);
        words.erase(first);
    }
    return file;
}

} // namespace cybele::cli
