// SPDX-License-Identifier: Apache-2.0
#include "schedulers/dialects/dialect.hpp"

#include "launchers/mpi/version.hpp"
#include "schedulers/dialects/needs.hpp"
#include "support/embedded.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace cybele::embedded {
std::span<const EmbeddedFile> dialects();
} // namespace cybele::embedded

namespace cybele::schedulers {
namespace {

constexpr std::string_view kFolder = "dialects/";
constexpr std::string_view kNeedsSuffix = ".needs";
constexpr std::string_view kTemplateSuffix = ".mustache";

struct ServiceWord {
    std::string_view word;
    Service service;
};
constexpr std::array<ServiceWord, 6> kServices{{{"directive", Service::kDirective},
                                                {"script", Service::kScript},
                                                {"scheduler", Service::kScheduler},
                                                {"cannot", Service::kCannot},
                                                {"later", Service::kLater},
                                                {"nothing", Service::kNothing}}};

/// Takes the next word off the line.
std::string_view take_word(std::string_view& line) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    const auto word = line.substr(0, line.find(' '));
    line.remove_prefix(word.size());
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    return word;
}

std::optional<NeedRule> read_rule(std::string_view need, std::string_view line) {
    const auto word = take_word(line);
    const auto known = std::ranges::find(kServices, word, &ServiceWord::word);
    if (known == kServices.end() || !is_need(need)) {
        return std::nullopt;
    }
    NeedRule rule;
    rule.service = known->service;
    if (rule.service == Service::kDirective) {
        rule.value = line.empty() ? need : line;
    } else if (rule.service == Service::kCannot || rule.service == Service::kLater) {
        const auto bar = line.find(" | ");
        if (bar == std::string_view::npos) {
            return std::nullopt;
        }
        rule.because = line.substr(0, bar);
        rule.help = line.substr(bar + 3);
    }
    return rule;
}

/// A row of the table: the version before which it counts (empty: from the oldest on) and the rest.
struct Row {
    std::string_view kind; ///< need, form, limit
    std::string_view what;
    std::string_view before;
    std::string_view rest;
};

/// Puts a row into the rules. Of several for one thing the one with the nearest `before` counts;
/// the table has them from old to new.
bool put_row(const Row& row, Rules& into) {
    const std::string what(row.what);
    const std::string before(row.before);
    if (row.kind == "need") {
        auto rule = read_rule(row.what, row.rest);
        if (!rule) {
            return false;
        }
        rule->before = before;
        return into.needs.emplace(what, std::move(*rule)).second;
    }
    if (row.kind == "form") {
        FormRule rule{{}, before};
        std::string_view rest = row.rest;
        while (!rest.empty()) {
            rule.words.emplace(take_word(rest));
        }
        return into.forms.emplace(what, std::move(rule)).second;
    }
    LimitRule rule{0, before};
    const auto [end, error] =
        std::from_chars(row.rest.data(), row.rest.data() + row.rest.size(), rule.most);
    return row.kind == "limit" && error == std::errc() &&
           end == row.rest.data() + row.rest.size() &&
           into.limits.emplace(what, std::move(rule)).second;
}

/// A thing for which an older version's row is there already needs no other.
bool is_told(const Row& row, const Rules& rules) {
    return (row.kind == "need" && rules.needs.contains(row.what)) ||
           (row.kind == "form" && rules.forms.contains(row.what)) ||
           (row.kind == "limit" && rules.limits.contains(row.what));
}

/// A table while it is read.
struct Reading {
    Dialect& into;
    std::set<std::pair<std::string_view, std::string_view>> ended; ///< kind and what, newest read
};

/// Puts the row into the rules of the Dialect's version, and of the oldest where none is known.
bool use_row(const Row& row, Reading& reading) {
    Dialect& into = reading.into;
    const std::pair thing{row.kind, row.what};
    if (reading.ended.contains(thing)) {
        return false;
    }
    if (row.before.empty()) {
        reading.ended.insert(thing);
    }
    const bool counts = row.before.empty() || is_older(into.version, row.before);
    Rules unused;
    Rules& rules = counts && !is_told(row, into) ? into : unused;
    if (!put_row(row, rules)) {
        return false;
    }
    return !into.oldest || is_told(row, *into.oldest) || put_row(row, *into.oldest);
}

/// `[before VERSION] need|form|limit WHAT …`, or `trait WORD`, or `oldest VERSION`.
bool read_line(std::string_view line, Reading& reading) {
    Dialect& into = reading.into;
    Row row;
    row.kind = take_word(line);
    if (row.kind == "before") {
        row.before = take_word(line);
        row.kind = take_word(line);
    }
    row.what = take_word(line);
    row.rest = line;
    if (row.kind == "trait" || row.kind == "oldest") {
        if (row.what.empty() || !line.empty() || !row.before.empty()) {
            return false;
        }
        if (row.kind == "trait") {
            into.traits.emplace(row.what);
        } else {
            into.oldest_known = row.what;
        }
        return true;
    }
    return !row.what.empty() && use_row(row, reading);
}

/// The numbers of a version, a year's century taken off.
compatibility::Version year_version(std::string_view text) {
    constexpr std::uint32_t kCentury = 2000;
    auto version = compatibility::parse_version(text);
    if (version.numbers[0] >= kCentury) {
        version.numbers[0] -= kCentury;
    }
    return version;
}

} // namespace

launchers::PlaceTraits Dialect::place() const {
    launchers::PlaceTraits traits_of_place;
    traits_of_place.dialect = name;
    traits_of_place.has_srun = has("srun");
    traits_of_place.has_node_file = has("node-file");
    traits_of_place.has_queues = has("queues");
    traits_of_place.binds_cores = has("binds-cores");
    return traits_of_place;
}

bool is_older(std::string_view version, std::string_view than) {
    const auto known = year_version(version);
    return known.is_known && known < year_version(than);
}

Result<void> read_needs(std::string_view text, Dialect& into) {
    std::size_t number = 0;
    Reading reading{into, {}};
    if (into.version.empty()) {
        into.oldest.emplace();
    }
    while (!text.empty()) {
        ++number;
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        if (!line.empty() && !line.starts_with('#') && !read_line(line, reading)) {
            return fail(
                ErrorCode::kInternal,
                problem(
                    "dialect-rule-malformed",
                    fmt::format("dialects/{}.needs: line {} is not a rule", into.name, number)));
        }
    }
    for (const auto need : need_names()) {
        if (!into.needs.contains(need)) {
            return fail(
                ErrorCode::kInternal,
                problem("dialect-rule-missing",
                        fmt::format("dialects/{}.needs says nothing of '{}'", into.name, need)));
        }
    }
    return {};
}

Result<Dialect> find_dialect(const std::string& name, const std::string& version) {
    Dialect dialect;
    dialect.name = name;
    if (year_version(version).is_known) {
        dialect.version = version;
    }
    bool is_known = false;
    const std::string start = std::string(kFolder) + name + ".";
    for (const auto& file : embedded::dialects()) {
        if (!file.name.starts_with(start)) {
            continue;
        }
        const auto rest = file.name.substr(start.size());
        if (file.name.ends_with(kNeedsSuffix)) {
            is_known = true;
            CYBELE_CHECK(read_needs(file.bytes, dialect));
        } else if (rest.ends_with(kTemplateSuffix)) {
            const auto part = rest.substr(0, rest.size() - kTemplateSuffix.size());
            dialect.has_head = dialect.has_head || part == "head";
            dialect.templates.put("dialect/" + std::string(part), file.bytes, file.digest);
        }
    }
    if (!is_known) {
        const auto names = dialect_names();
        const std::vector<std::string_view> views(names.begin(), names.end());
        const std::string near = nearest(name, views);
        return fail(ErrorCode::kInput,
                    problem("scheduler-unknown",
                            fmt::format("no scheduler is called '{}'", printable(name))),
                    fmt::format("known are {}", fmt::join(names, ", ")),
                    near.empty() ? "name one of these" : "did you mean '" + near + "'?");
    }
    return dialect;
}

std::vector<std::string> dialect_names() {
    std::vector<std::string> names;
    for (const auto& file : embedded::dialects()) {
        if (file.name.ends_with(kNeedsSuffix)) {
            names.emplace_back(file.name.substr(
                kFolder.size(), file.name.size() - kFolder.size() - kNeedsSuffix.size()));
        }
    }
    std::sort(names.begin(), names.end());
    return names;
}

} // namespace cybele::schedulers
