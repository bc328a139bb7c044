// SPDX-License-Identifier: Apache-2.0
#include "cli/run/start_options.hpp"

#include "runtime/containers/csv.hpp"
#include "runtime/containers/device_interface.hpp"
#include "runtime/containers/environment_option.hpp"
#include "runtime/containers/root_image.hpp"
#include "runtime/containers/site_settings.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

namespace cybele::cli {

namespace {

constexpr std::array<std::string_view, 2> kPrefixes = {"APPTAINER_", "SINGULARITY_"};

/// A word of the variables of a row.
bool has_variable(const StartOption& option, std::string_view name) {
    std::string_view rest = option.variables;
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find(' '), rest.size());
        if (rest.substr(0, end) == name) {
            return true;
        }
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return false;
}

tl::unexpected<Error> refuse_variable(const std::string& variable,
                                      const StartOption& option,
                                      const std::string& why,
                                      std::string detail = {},
                                      std::string value = {}) {
    return fail(ErrorCode::kUsage,
                problem("apptainer-variable",
                        variable + " cannot be used: " +
                            (option.use == Use::kRefused
                                 ? std::string(option.long_name()) + " is not supported"
                                 : "its value is not valid"),
                        std::move(detail))
                    .about(std::string(option.long_name().substr(2)), std::move(value)),
                why,
                "unset " + variable);
}

/// What a variable says for a flag; nothing for what is neither.
std::optional<bool> read_switch(std::string_view value) {
    constexpr std::string_view kYes[] = {"1", "t", "T", "true", "TRUE", "True"};
    constexpr std::string_view kNo[] = {"0", "f", "F", "false", "FALSE", "False"};
    if (contains(kYes, value)) {
        return true;
    }
    if (contains(kNo, value)) {
        return false;
    }
    return std::nullopt;
}

Result<void> take_variable(StartOptions& options,
                           const StartOption& option,
                           const std::string& variable,
                           std::string_view value) {
    if (option.value.empty()) {
        const std::optional<bool> is_on = read_switch(value);
        if (!is_on) {
            return refuse_variable(variable,
                                   option,
                                   "'" + printable(value) + "' is neither true nor false",
                                   "switch",
                                   std::string(value));
        }
        if (!*is_on) {
            return {};
        }
    }
    const auto values = option.use == Use::kList ? runtime::csv_fields(value)
                                                 : std::vector<std::string>{std::string(value)};
    for (const std::string& one : values) {
        if (std::string why = give(option, options, one); !why.empty()) {
            return refuse_variable(variable, option, why);
        }
    }
    return {};
}

/// The variables with one of the prefixes, without it.
std::map<std::string, std::string> variables_of(const Environment& environment,
                                                std::string_view prefix) {
    std::map<std::string, std::string> found;
    const EnvironmentMap& all = environment.all();
    for (auto at = all.lower_bound(std::string(prefix));
         at != all.end() && at->first.starts_with(prefix);
         ++at) {
        found.emplace(at->first.substr(prefix.size()), at->second);
    }
    return found;
}

/// What Apptainer says where only the old name of a variable is set.
void note_old_name(const Environment& environment,
                   const std::string& name,
                   std::vector<std::string>* notes) {
    const std::string preferred = std::string(kPrefixes[0]) + name;
    if (notes != nullptr && environment.get_or(preferred, "").empty()) {
        notes->push_back("Environment variable " + std::string(kPrefixes[1]) + name +
                         " is set, but " + preferred + " is preferred");
    }
}

/// -B and --mount read their variables where the mounts are planned: they are added to the options.
bool is_read_elsewhere(const StartOption& option) {
    return option.has_name("--bind") || option.has_name("--tmpdir");
}

} // namespace

Result<void> take_variables(StartOptions& options,
                            const std::set<const StartOption*>& given,
                            const Environment& environment,
                            std::vector<std::string>& warnings,
                            std::vector<std::string>* notes) {
    std::map<std::string, std::string> first;
    std::set<const StartOption*> set;
    for (const std::string_view prefix : kPrefixes) {
        for (const auto& [name, value] : variables_of(environment, prefix)) {
            const auto rows = start_options();
            const auto row = std::ranges::find_if(
                rows, [&](const StartOption& one) { return has_variable(one, name); });
            if (row == rows.end() || text::trimmed(value, " \t").empty() ||
                !row->is_of(options.request.program.action, options.is_instance)) {
                continue;
            }
            if (prefix == kPrefixes[1]) {
                note_old_name(environment, name, notes);
            }
            const auto [known, is_new] = first.emplace(name, value);
            if (!is_new) {
                if (known->second != value) {
                    std::string warning(prefix);
                    warning.append(name).append(" and ").append(kPrefixes[0]).append(name);
                    warning += " have different values, using the latter";
                    warnings.push_back(std::move(warning));
                }
                continue;
            }
            if (is_read_elsewhere(*row)) {
                continue;
            }
            const bool is_added = row->use == Use::kEach;
            if (!is_added && (given.contains(&*row) || !set.insert(&*row).second)) {
                continue;
            }
            CYBELE_CHECK(take_variable(
                options, *row, std::string(prefix) + name, text::trimmed(value, " \t")));
        }
    }
    return {};
}

bool is_running_instance(const StartOptions& options) {
    return options.image.starts_with("instance://");
}

namespace {

/// The settings of this host, and devices that its files describe.
Result<void> use_host(const Session& session, StartOptions& options) {
    std::vector<std::string> warnings;
    auto found = runtime::find_site_settings(options.site_settings);
    if (!found && found.error().faults().front().id == "file-missing") {
        return fail(ErrorCode::kInput,
                    problem("site-settings-missing",
                            "cannot read '" + printable(options.site_settings) + "'")
                        .about(options.site_settings),
                    "the file does not exist",
                    "check the name that --config has");
    }
    CYBELE_TRY(const auto settings, std::move(found));
    if (settings) {
        runtime::configure_messages(options.request.global);
        CYBELE_CHECK(runtime::apply_site_settings(*settings, options.request, warnings));
    }
    CYBELE_CHECK(runtime::check_control_list(options.request));
    CYBELE_CHECK(
        runtime::add_devices(options.devices, options.device_folders, options.request, warnings));
    for (const std::string& warning : warnings) {
        if (session.has_warnings()) {
            runtime::warn(warning);
        }
    }
    return {};
}

/// "DIR:WORD" is DIR, as with Apptainer, where no directory has the complete name.
void drop_overlay_option(std::string& overlay) {
    std::error_code failed;
    const std::size_t colon = overlay.find(':');
    if (colon != std::string::npos && !overlay.ends_with(":ro") &&
        !std::filesystem::exists(overlay, failed)) {
        overlay.resize(colon);
    }
}

} // namespace

Result<int> start(const Session& session, StartOptions& options) {
    for (const std::string& variable : options.variables) {
        CYBELE_TRY(const auto pairs, runtime::read_environment_option(variable));
        for (const auto& [name, value] : pairs) {
            options.request.variables.environment[name] = value;
        }
    }
    if (options.asks_for_login && options.image.find("://") != std::string::npos &&
        !is_running_instance(options)) {
        return fail(ErrorCode::kEnvironment,
                    problem("apptainer-option-not-supported", "--docker-login is not supported"),
                    "no password is asked for here; run `registry login` once");
    }
    CYBELE_TRY(options.request.image.file, session.find_image(options));
    if (options.asks_for_signatures() && is_running_instance(options)) {
        return fail(ErrorCode::kUsage,
                    problem("instance-not-verified", "an instance cannot be verified"),
                    "its image was verified when it was started, or not at all",
                    "give the option to `instance start`");
    }
    if (options.asks_for_signatures()) {
        CYBELE_CHECK(session.demand_signatures(session, options));
    }
    options.request.global.is_verbose = session.verbosity > 0;
    options.request.global.is_quiet = !session.has_warnings();
    options.request.global.follows_apptainer = session.is_apptainer();
    options.request.global.prints_info = session.is_apptainer() && !session.is_quiet;
    if (options.request.global.follows_apptainer) {
        std::for_each(options.request.image.overlays.begin(),
                      options.request.image.overlays.end(),
                      drop_overlay_option);
    }
    if (options.request.global.follows_apptainer &&
        options.request.program.action == runtime::Action::kShell) {
        if (!options.request.program.arguments.empty() && session.has_warnings()) {
            runtime::configure_messages(options.request.global);
            runtime::warn("Parameters to shell command are ignored");
        }
        options.request.program.arguments.clear(); // nothing reads them, as in Apptainer
    }
    if (!is_running_instance(options)) {
        CYBELE_CHECK(use_host(session, options));
    }
    if (session.start_with_instance && (options.is_instance || is_running_instance(options))) {
        return session.start_with_instance(session, options);
    }
    std::signal(SIGPIPE, session.sigpipe_before); // NOLINT: the program inherits it
    return runtime::start(options.request, session.environment)
        .map_error(during("starting a container of '" +
                          printable(options.request.image.file.native()) + "'"));
}

} // namespace cybele::cli
