// SPDX-License-Identifier: Apache-2.0
#include "cli/apptainer/config_verbs.hpp"

#include "cli/common/session.hpp"
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

constexpr const char* kFile = "/etc/apptainer/apptainer.conf";
constexpr std::string_view kSwitch = "yes no";
constexpr std::string_view kNumber = "#";
constexpr std::string_view kList = "*";
constexpr std::string_view kText;

struct HostDirective {
    std::string_view name;
    std::string_view usual;  ///< of a list: with commas
    std::string_view values; ///< those that it can have, or the kind of its value
};
constexpr HostDirective kHostDirectives[] = {
    {"allow setuid", "yes", kSwitch},
    {"allow ipc ns", "yes", kSwitch},
    {"allow pid ns", "yes", kSwitch},
    {"allow user ns", "yes", kSwitch},
    {"allow uts ns", "yes", kSwitch},
    {"config passwd", "yes", kSwitch},
    {"config group", "yes", kSwitch},
    {"config resolv_conf", "yes", kSwitch},
    {"mount proc", "yes", kSwitch},
    {"mount sys", "yes", kSwitch},
    {"mount devpts", "yes", kSwitch},
    {"mount home", "yes", kSwitch},
    {"mount tmp", "yes", kSwitch},
    {"mount hostfs", "no", kSwitch},
    {"user bind control", "yes", kSwitch},
    {"enable fusemount", "yes", kSwitch},
    {"enable underlay", "yes", "yes no preferred"},
    {"mount slave", "yes", kSwitch},
    {"allow container sif", "yes", kSwitch},
    {"allow container encrypted", "yes", kSwitch},
    {"allow container squashfs", "yes", kSwitch},
    {"allow container extfs", "yes", kSwitch},
    {"allow container dir", "yes", kSwitch},
    {"allow setuid-mount encrypted", "yes", kSwitch},
    {"allow setuid-mount squashfs", "iflimited", "yes no iflimited"},
    {"allow setuid-mount extfs", "no", kSwitch},
    {"always use nv", "no", kSwitch},
    {"use nvidia-container-cli", "no", kSwitch},
    {"always use rocm", "no", kSwitch},
    {"shared loop devices", "no", kSwitch},
    {"max loop devices", "256", kNumber},
    {"sessiondir max size", "64", kNumber},
    {"mount dev", "yes", "yes no minimal"},
    {"enable overlay", "yes", "yes no try driver"},
    {"bind path", "/etc/localtime,/etc/hosts", kList},
    {"limit container owners", "", kList},
    {"limit container groups", "", kList},
    {"limit container paths", "", kList},
    {"allow net users", "", kList},
    {"allow net groups", "", kList},
    {"allow net networks", "", kList},
    {"allow netns paths", "", kList},
    {"root default capabilities", "full", "full file no"},
    {"memory fs type", "tmpfs", "tmpfs ramfs"},
    {"cni configuration path", "", kText},
    {"cni plugin path", "", kText},
    {"binary path", "", kText},
    {"suidbinary path", "", kText},
    {"mksquashfs procs", "0", kNumber},
    {"mksquashfs mem", "", kText},
    {"image driver", "", kText},
    {"download concurrency", "3", kNumber},
    {"download part size", "5242880", kNumber},
    {"download buffer size", "32768", kNumber},
    {"systemd cgroups", "yes", kSwitch},
    {"apptheus communication socket path", "/run/apptheus/gateway.sock", kText},
    {"allow monitoring", "no", kSwitch},
};

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

Values read_values(const std::string& text, const HostDirective& directive) {
    Values values;
    bool is_set = false;
    for (const std::string_view line : text::split_terminated(text, '\n')) {
        const auto value = value_in(line, directive.name);
        is_set = is_set || value;
        if (value && directive.values != kList) {
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
with_values(const std::string& text, const HostDirective& directive, const Values& values) {
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

Result<void> check_directive(const HostDirective& directive, const Values& given) {
    const std::string value = fmt::format("{}", fmt::join(given, ","));
    if (directive.values == kNumber) {
        const bool is_number =
            !value.empty() && value.find_first_not_of("0123456789") == std::string::npos;
        return is_number ? Result<void>()
                         : refuse_directive(
                               "configuration directive invalid: strconv.ParseUint: parsing \"" +
                               value + "\": invalid syntax");
    }
    const auto allowed = text::split_terminated(directive.values, ' ');
    if (directive.values == kList || directive.values == kText ||
        std::find(allowed.begin(), allowed.end(), value) != allowed.end()) {
        return {};
    }
    const char quote = directive.values == kSwitch ? '"' : '\''; // as there
    return refuse_directive(fmt::format(
        "configuration directive invalid: value authorized for directive {}{}{} are [{}]",
        quote,
        directive.name,
        quote,
        directive.values));
}

Result<Values>
changed_values(const OtherCall& call, const HostDirective& directive, Values present) {
    const Values given = call.words.size() > 1 ? listed_values(call.words[1]) : Values();
    if (call.has("--reset")) {
        return directive.values == kList ? Values() : listed_values(directive.usual); // as there
    }
    if (given.empty()) {
        return refuse_directive(
            fmt::format("you must specify a value for directive \"{}\"", directive.name));
    }
    if (call.has("--set")) {
        CYBELE_CHECK(check_directive(directive, given));
        Values values = given;
        if (directive.values == kList) {
            values.insert(values.end(), present.begin(), present.end());
        }
        return values;
    }
    for (const std::string& value : given) {
        const auto at = std::find(present.begin(), present.end(), value);
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
        std::find_if(std::begin(kHostDirectives),
                     std::end(kHostDirectives),
                     [&](const HostDirective& one) { return one.name == call.words.front(); });
    if (directive == std::end(kHostDirectives)) {
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
