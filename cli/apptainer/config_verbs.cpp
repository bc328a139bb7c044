// SPDX-License-Identifier: Apache-2.0
#include "cli/apptainer/config_verbs.hpp"

#include "cli/common/session.hpp"
#include "runtime/containers/site_directives.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

namespace cybele::cli {

namespace {

namespace fs = std::filesystem;

using runtime::SiteDirective;

constexpr const char* kFile = "/etc/apptainer/apptainer.conf";
using Values = std::vector<std::string>;

tl::unexpected<Error> refuse_directive(const std::string& why) {
    return fail(ErrorCode::kInput, problem("host-directive", printable(why)));
}

Values listed_values(std::string_view list) {
    Values values;
    for (const std::string_view part : text::split_terminated(list, ',')) {
        values.emplace_back(part);
    }
    return values;
}

/// The value of a line "NAME = VALUE" of this directive.
std::optional<std::string_view> value_in(std::string_view line, std::string_view name) {
    const std::size_t equals = line.find('=');
    const bool is_of = equals != std::string_view::npos && !text::trimmed(line).starts_with('#') &&
                       text::trimmed(line.substr(0, equals)) == name;
    return is_of ? std::optional(text::trimmed(line.substr(equals + 1))) : std::nullopt;
}

Values read_values(const std::string& text, const SiteDirective& directive) {
    Values values;
    bool is_set = false;
    for (const std::string_view line : text::split_terminated(text, '\n')) {
        const auto value = value_in(line, directive.name);
        is_set = is_set || value;
        if (value && directive.kind != SiteDirective::Kind::kList) {
            values.clear();
        }
        if (value && !value->empty()) {
            values.emplace_back(*value);
        }
    }
    return is_set ? values : listed_values(directive.usual);
}

/// The text with these values of the directive, at the place of its first line.
std::string
with_values(const std::string& text, const SiteDirective& directive, const Values& values) {
    std::string own;
    for (const std::string& value : values) {
        own += fmt::format("{} = {}\n", directive.name, value);
    }
    if (values.empty()) {
        own = fmt::format("{} =\n", directive.name);
    }
    std::string changed;
    bool is_written = false;
    for (const std::string_view line : text::split_terminated(text, '\n')) {
        if (!value_in(line, directive.name)) {
            changed += std::string(line) + "\n";
            continue;
        }
        changed += is_written ? "" : own;
        is_written = true;
    }
    return is_written ? changed : changed + own;
}

Result<void> check_directive(const SiteDirective& directive, const Values& given) {
    const std::string value = fmt::format("{}", fmt::join(given, ","));
    if (directive.accepts(value)) {
        return {};
    }
    if (directive.kind == SiteDirective::Kind::kNumber) {
        return refuse_directive("configuration directive invalid: strconv.ParseUint: parsing \"" +
                                value + "\": invalid syntax");
    }
    const char quote = directive.kind == SiteDirective::Kind::kSwitch ? '"' : '\''; // as there
    return refuse_directive(fmt::format(
        "configuration directive invalid: value authorized for directive {}{}{} are [{}]",
        quote,
        directive.name,
        quote,
        directive.choices));
}

Result<Values>
changed_values(const OtherCall& call, const SiteDirective& directive, Values present) {
    const Values given = call.words.size() > 1 ? listed_values(call.words[1]) : Values();
    if (call.has("--reset")) {
        return directive.kind == SiteDirective::Kind::kList
                   ? Values()
                   : listed_values(directive.usual); // as there
    }
    if (given.empty()) {
        return refuse_directive(
            fmt::format("you must specify a value for directive \"{}\"", directive.name));
    }
    if (call.has("--set")) {
        CYBELE_CHECK(check_directive(directive, given));
        Values values = given;
        if (directive.kind == SiteDirective::Kind::kList) {
            values.insert(values.end(), present.begin(), present.end());
        }
        return values;
    }
    for (const std::string& value : given) {
        const auto at = std::ranges::find(present, value);
        if (at == present.end()) {
            return refuse_directive(
                fmt::format("value '{}' not found for directive \"{}\"", value, directive.name));
        }
        present.erase(at);
    }
    return present;
}

} // namespace

Result<int> configure(const OtherCall& call) {
    const bool is_get = call.has("--get");
    if (!is_get && !call.has("--set") && !call.has("--unset") && !call.has("--reset")) {
        return fail(
            ErrorCode::kUsage,
            problem("apptainer-command-line", "you must specify an option (eg: --set/--unset)"));
    }
    const auto* const directive =
        std::ranges::find(runtime::kSiteDirectives, call.words.front(), &SiteDirective::name);
    if (directive == std::end(runtime::kSiteDirectives)) {
        return refuse_directive("\"" + call.words.front() +
                                "\" is not a valid configuration directive");
    }
    std::error_code failed;
    std::string text;
    if (fs::exists(kFile, failed)) {
        CYBELE_TRY(text, read_file(kFile));
    }
    const Values present = read_values(text, *directive);
    if (is_get) {
        const std::string shown = printable(fmt::format("{}", fmt::join(present, ",")));
        Session::print(shown.empty() ? shown : shown + "\n");
        return 0;
    }
    CYBELE_TRY(const Values values, changed_values(call, *directive, present));
    const std::string changed = with_values(text, *directive, values);
    if (call.has("--dry-run")) {
        Session::print(changed);
        return 0;
    }
    if (::geteuid() != 0) {
        return refuse_directive(fmt::format(
            "while creating configuration file {}: open {}: permission denied", kFile, kFile));
    }
    fs::create_directories(fs::path(kFile).parent_path(), failed);
    CYBELE_CHECK(write_file(kFile, changed, 0644));
    return 0;
}

} // namespace cybele::cli
