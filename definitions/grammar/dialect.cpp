// SPDX-License-Identifier: Apache-2.0
#include "definitions/grammar/dialect.hpp"

#include "support/quote.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include <fmt/format.h>

namespace cybele::definitions {
namespace {

constexpr Version k10{1, 0, 0};
constexpr std::optional<Version> kNever = std::nullopt;

constexpr std::array kFeatures = {
    FeatureRow{Feature::kStages, "stages", "several stages and %files from", {k10, {{3, 2, 0}}}},
    FeatureRow{Feature::kHeaderContinuation,
               "header-continuation",
               "header values over several lines",
               {k10, {{3, 4, 0}}}},
    FeatureRow{
        Feature::kQuotedFiles, "quoted-files", "double quotes in %files lines", {k10, {{3, 7, 0}}}},
    FeatureRow{Feature::kBaseEnvironment,
               "base-environment",
               "%post sees the base image's variables",
               {k10, {{3, 6, 0}}}},
    FeatureRow{Feature::kEmbeddedShell,
               "embedded-shell",
               "%environment is read by a built-in shell, not by the image's",
               {k10, {{3, 6, 0}}}},
    FeatureRow{Feature::kBuildVariables,
               "build-variables",
               "$SINGULARITY_LABELS in %post",
               {k10, {{3, 7, 0}}}},
    FeatureRow{Feature::kApptainerVariables,
               "apptainer-variables",
               "variables of the build whose names begin with APPTAINER_",
               {k10, kNever}},
    FeatureRow{
        Feature::kTestShebang, "test-shebang", "a shebang in %test", {{{1, 1, 0}}, {{3, 11, 0}}}},
    FeatureRow{Feature::kTemplates,
               "templates",
               "{{ name }}, %arguments and --build-arg",
               {{{1, 2, 0}}, {{4, 0, 0}}}},
    FeatureRow{Feature::kCommentsKeepTemplate,
               "comment-templates",
               "a template in a comment is left alone",
               {{{1, 3, 0}}, kNever}},
    FeatureRow{Feature::kNestedArguments,
               "nested-arguments",
               "an argument's value may use another argument",
               {{{1, 3, 5}}, kNever}},
    FeatureRow{Feature::kEqualsInArguments,
               "equals-in-arguments",
               "an argument's value may hold '='",
               {{{1, 3, 0}}, {{4, 0, 0}}}},
    FeatureRow{Feature::kImpliedFakeroot,
               "implied-fakeroot",
               "an ordinary user builds without --fakeroot",
               {{{1, 1, 0}}, kNever}},
    FeatureRow{Feature::kReproducible,
               "reproducible",
               "SOURCE_DATE_EPOCH decides the times in the image",
               {{{1, 5, 0}}, kNever}},
};

/// A bare `singularity` or `singularity3` is the last release of that name. `ce` has its own
/// versions from 3.8 on. The newest release whose rows were compared stands for a bare name.
/// A release of which users name the line: "apptainer" is its newest known one.
struct DialectWord {
    std::string_view word;
    Dialect dialect;
};
constexpr std::array kWords = {
    DialectWord{"apptainer", kApptainer},
    DialectWord{"ce", {Family::kSingularity, {4, 5, 1}}},
    DialectWord{"singularityce", {Family::kSingularity, {4, 5, 1}}},
    DialectWord{"singularity3", {Family::kSingularity, {3, 8, 4}}},
    DialectWord{"singularity", {Family::kSingularity, {3, 8, 4}}},
};

constexpr Version kOldestSingularity{3, 2, 0};
constexpr Version kFirstCe{3, 8, 0};
constexpr Version kFirstCeMajor{4, 0, 0};

bool has_since(const std::optional<Version>& since, const Version& version) {
    return since.has_value() && *since <= version;
}

/// "1", "1.2" or "1.3.5".
std::optional<Version> parse_version(std::string_view text) {
    std::array<int, 3> parts{};
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const auto [end, error] =
            std::from_chars(text.data(), text.data() + text.size(), parts.at(i));
        if (error != std::errc() || parts.at(i) < 0) {
            return std::nullopt;
        }
        text.remove_prefix(static_cast<std::size_t>(end - text.data()));
        if (text.empty()) {
            return Version{parts[0], parts[1], parts[2]};
        }
        if (text.front() != '.') {
            return std::nullopt;
        }
        text.remove_prefix(1);
    }
    return std::nullopt;
}

tl::unexpected<Error> no_dialect(std::string_view text) {
    return fail(ErrorCode::kUsage,
                problem("dialect-unknown",
                        fmt::format("'{}' names no dialect of definition files", printable(text))),
                "a dialect is apptainer, ce or singularity3, with a version or without one",
                "write for example --dialect 'apptainer>=1.2', 'ce>=4.0' or 'singularity 3.7'");
}

/// Splits "ce>=4.0", "ce 4.0", "ce=4.0", "ce4.0" into word and version.
std::pair<std::string_view, std::string_view> split_word(std::string_view text) {
    const DialectWord* word = nullptr;
    for (const DialectWord& candidate : kWords) {
        if (text.starts_with(candidate.word) &&
            (word == nullptr || candidate.word.size() > word->word.size())) {
            word = &candidate;
        }
    }
    if (word == nullptr) {
        return {};
    }
    std::string_view rest = text.substr(word->word.size());
    if (word->word == "singularity3" && rest.starts_with('.')) {
        return {"singularity", text.substr(word->word.size() - 1)};
    }
    while (rest.starts_with(' ') || rest.starts_with('>') || rest.starts_with('=')) {
        rest.remove_prefix(1);
    }
    return {word->word, rest};
}

} // namespace

std::string to_string(const Version& version) {
    return version.patch == 0
               ? fmt::format("{}.{}", version.major, version.minor)
               : fmt::format("{}.{}.{}", version.major, version.minor, version.patch);
}

std::string Dialect::name() const {
    const std::string_view program = family == Family::kApptainer ? "Apptainer"
                                     : version >= kFirstCeMajor   ? "SingularityCE"
                                                                  : "Singularity";
    return fmt::format("{} {}", program, to_string(version));
}

bool Since::holds_for(const Dialect& dialect) const {
    return has_since(dialect.family == Family::kApptainer ? apptainer : singularity,
                     dialect.version);
}

std::string Since::describe() const {
    std::vector<std::string> parts;
    if (apptainer) {
        parts.push_back("Apptainer " + to_string(*apptainer));
    }
    if (singularity) {
        parts.push_back((*singularity >= kFirstCe ? "SingularityCE " : "Singularity ") +
                        to_string(*singularity));
    }
    return fmt::format("{}", fmt::join(parts, ", "));
}

std::span<const FeatureRow> features() {
    return kFeatures;
}

const FeatureRow& feature_row(Feature feature) {
    return *std::ranges::find(kFeatures, feature, &FeatureRow::feature);
}

bool has(const Dialect& dialect, Feature feature) {
    return feature_row(feature).since.holds_for(dialect);
}

Result<Dialect> parse_dialect(std::string_view text) {
    const auto [word, rest] = split_word(text);
    const auto* const known = std::ranges::find(kWords, word, &DialectWord::word);
    if (word.empty() || known == kWords.end()) {
        return no_dialect(text);
    }
    if (rest.empty()) {
        return known->dialect;
    }
    const auto version = parse_version(rest);
    if (!version) {
        return no_dialect(text);
    }
    const Version oldest = known->dialect.family == Family::kApptainer ? k10
                           : word.starts_with("singularity") && word != "singularityce"
                               ? kOldestSingularity
                               : kFirstCe;
    if (*version < oldest) {
        return fail(
            ErrorCode::kUsage,
            problem("dialect-version-unknown",
                    fmt::format("the dialect of '{}' is not known", printable(text))),
            fmt::format("the oldest release whose parser was compared is {}", to_string(oldest)),
            fmt::format("name {} {} or a later one", word, to_string(oldest)));
    }
    return Dialect{known->dialect.family, *version};
}

} // namespace cybele::definitions
