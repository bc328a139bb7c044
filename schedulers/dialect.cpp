// SPDX-License-Identifier: Apache-2.0
#include "schedulers/dialect.hpp"

#include "schedulers/needs.hpp"
#include "schedulers/render.hpp"
#include "support/embedded.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>
#include <optional>

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
constexpr std::array<ServiceWord, 5> kServices{{{"directive", Service::kDirective},
                                                {"script", Service::kScript},
                                                {"scheduler", Service::kScheduler},
                                                {"cannot", Service::kCannot},
                                                {"later", Service::kLater}}};

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
    const auto known = std::find_if(kServices.begin(),
                                    kServices.end(),
                                    [&](const ServiceWord& row) { return row.word == word; });
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

Result<void> read_needs(std::string_view text, Dialect& into) {
    std::size_t number = 0;
    while (!text.empty()) {
        ++number;
        std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        if (line.empty() || line.starts_with('#')) {
            continue;
        }
        const auto kind = take_word(line);
        const auto what = take_word(line);
        if (kind == "trait" && line.empty()) {
            into.traits.emplace(what);
            continue;
        }
        auto rule = kind == "need" ? read_rule(what, line) : std::nullopt;
        if (!rule || !into.needs.emplace(what, std::move(*rule)).second) {
            return fail(ErrorCode::kInternal,
                        fmt::format("dialects/{}.needs: line {} is no rule", into.name, number));
        }
    }
    for (const auto need : need_names()) {
        if (!into.needs.contains(need)) {
            return fail(ErrorCode::kInternal,
                        fmt::format("dialects/{}.needs says nothing of '{}'", into.name, need));
        }
    }
    return {};
}

Result<Dialect> find_dialect(const std::string& name) {
    Dialect dialect;
    dialect.name = name;
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
            dialect.templates.put("dialect/" + std::string(part), file.bytes);
        }
    }
    if (!is_known) {
        const auto names = dialect_names();
        const std::vector<std::string_view> views(names.begin(), names.end());
        const std::string near = nearest(name, views);
        return fail(ErrorCode::kInput,
                    fmt::format("no scheduler is called '{}'", printable(name)),
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
