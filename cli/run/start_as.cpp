// SPDX-License-Identifier: Apache-2.0
#include "cli/run/start_as.hpp"

#include "cli/run/flag_words.hpp"
#include "runtime/containers/environment_option.hpp"
#include "runtime/containers/root_image.hpp"
#include "support/find.hpp"
#include "support/name.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>

#include <unistd.h>

namespace cybele::cli {

namespace {

constexpr StartVerb kStartVerbs[] = {{"exec", runtime::Action::kExec, 2},
                                     {"run", runtime::Action::kRun, 1},
                                     {"shell", runtime::Action::kShell, 1},
                                     {"test", runtime::Action::kTest, 1},
                                     {"instance start", runtime::Action::kStart, 2},
                                     {"instance run", runtime::Action::kRun, 2}};

/// Apptainer's option of this name.
const StartOption* option_named(std::string_view name, runtime::Action action, bool is_instance) {
    const auto rows = start_options();
    return find_row(rows, [&](const StartOption& one) {
        return !one.is_ours && one.has_name(name) && one.is_of(action, is_instance);
    });
}

/// Of those that take a value: an empty one is none but for these.
bool reads_empty(const StartOption& option) {
    constexpr std::string_view kNames[] = {
        "--home", "--env", "--cpu-shares", "--pids-limit", "--blkio-weight", "--pem-path"};
    return std::ranges::any_of(kNames,
                               [&](std::string_view name) { return option.has_name(name); });
}

/// "1h30m", "1.5s", "-2ms", "0".
bool is_duration(std::string_view text) {
    constexpr std::string_view kUnits[] = {"ns", "us", "ms", "s", "m", "h"};
    text.remove_prefix(text.starts_with('-') || text.starts_with('+') ? 1 : 0);
    if (text == "0") {
        return true;
    }
    bool is_empty = true;
    while (!text.empty()) {
        const std::size_t number = std::min(text.find_first_not_of("0123456789."), text.size());
        const std::string_view digits = text.substr(0, number);
        text.remove_prefix(number);
        const std::size_t letters = std::min(text.find_first_of("0123456789."), text.size());
        const bool is_unit = contains(kUnits, text.substr(0, letters));
        if (!is_unit || digits.find_first_of("0123456789") == std::string_view::npos ||
            std::count(digits.begin(), digits.end(), '.') > 1) {
            return false;
        }
        text.remove_prefix(letters);
        is_empty = false;
    }
    return !is_empty;
}

/// What Apptainer finds wrong later than its command line.
Result<void> check_value(const StartAs& read, const StartOption& option, const FlagWord& flag) {
    const std::string value = flag.value.value_or("");
    if (option.has_name("--home") && value.empty()) {
        return fail(ErrorCode::kInput,
                    problem("home-empty", "--home has no directory"),
                    "it names the home directory",
                    "write --home SRC:DST, or leave it out");
    }
    const bool is_timeout = option.has_name("--runscript-timeout") && !value.empty() &&
                            read.options.request.program.action == runtime::Action::kRun;
    if (is_timeout && !is_duration(value)) {
        return fail(ErrorCode::kInput,
                    problem("duration-malformed",
                            "--runscript-timeout: invalid duration '" + printable(value) + "'"),
                    "a duration has a unit",
                    "write --runscript-timeout 30s");
    }
    return {};
}

/// A list ends with its line, like each list of Apptainer; a value of one variable has lines.
std::string_view first_line(std::string_view text) {
    if (std::count(text.begin(), text.end(), '=') < 2) {
        return text;
    }
    bool is_quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        is_quoted = is_quoted != (text[i] == '"');
        if (text[i] == '\n' && !is_quoted) {
            return text.substr(0, i);
        }
    }
    return text;
}

/// So that it is read as one variable again.
std::string as_one_field(const std::string& field) {
    if (std::count(field.begin(), field.end(), '=') < 2) {
        return field;
    }
    std::string quoted = "\"";
    for (const char c : field) {
        quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    }
    return quoted + '"';
}

/// The variables of one --env, each as a value of its own; those whose names no shell knows are
/// named in a warning. `malformed` is a field that sets nothing.
std::vector<std::string>
variables_of(StartAs& read, const std::string& value, std::optional<std::string>& malformed) {
    std::vector<std::string> variables;
    for (const std::string& field : runtime::environment_fields(first_line(value))) {
        const std::size_t equals = field.find('=');
        const std::string name = field.substr(0, std::min(equals, field.size()));
        if (equals == std::string::npos) {
            malformed = field;
        } else if (name.empty()) {
            read.warnings.push_back("Ignore environment variable " + printable(field) +
                                    ": variable name missing");
        } else if (!is_variable_name(name)) {
            read.warnings.push_back("variable '" + printable(name) +
                                    "' is ignored: a name has letters, digits and _ only");
        } else {
            variables.push_back(as_one_field(field));
        }
    }
    return variables;
}

Result<void> take_flag(StartAs& read, const StartOption& option, const FlagWord& flag) {
    std::vector<std::string> values{flag.value.value_or("")};
    CYBELE_CHECK(check_value(read, option, flag));
    if (!option.value.empty() && values.front().empty() && !reads_empty(option)) {
        return {};
    }
    if (option.value.empty()) {
        CYBELE_TRY(const bool is_on, read_switch(flag, option.names));
        // --passphrase asks for one whatever its value is, and --keep-privs is refused likewise.
        if (!is_on && !option.has_name("--passphrase")) {
            return {};
        }
        values = {""};
    } else if (option.use == Use::kList) {
        values = read_list(values.front());
    }
    std::optional<std::string> malformed;
    if (option.has_name("--env")) {
        auto variables = variables_of(read, values.front(), malformed);
        values = malformed ? values : std::move(variables);
    }
    for (const std::string& value : values) {
        std::string why = malformed ? *malformed + " must be formatted as key=value"
                                    : give(option, read.options, value);
        if (why.empty()) {
            continue;
        }
        const bool is_roots = option.has_name("--allow-setuid") || option.has_name("--boot");
        if (is_roots && ::geteuid() != 0) {
            return fail(
                ErrorCode::kEnvironment,
                problem("root-only-option", flag.name + " is for root only").about(flag.name),
                "a user's container has no privileges",
                "leave it out");
        }
        if (option.use == Use::kRefused) {
            return fail(ErrorCode::kEnvironment,
                        problem("apptainer-option-not-supported", flag.name + " is not supported"),
                        std::move(why));
        }
        if (why == kNotAnInteger) { // as the library of flags there says it
            why = "strconv.ParseInt: parsing \"" + value + "\": invalid syntax";
        }
        std::string message = "invalid argument \"";
        message.append(value).append("\" for \"").append(flag.name).append("\" flag: ").append(why);
        return fail(ErrorCode::kUsage, problem("apptainer-flag", std::move(message)));
    }
    return {};
}

} // namespace

const StartVerb* start_verb(std::string_view name) {
    return find_row(kStartVerbs, name, &StartVerb::name);
}

namespace {

/// What the variables of global flags say; each wrong value is refused.
Result<void> add_global_variables(GlobalFlags& flags, const Environment& environment) {
    constexpr std::string_view kSwitches[] = {"DEBUG", "NOCOLOR", "QUIET", "SILENT", "VERBOSE"};
    const auto value_of = [&](std::string_view name) {
        const std::string text(name);
        return environment.get_or("APPTAINER_" + text,
                                  environment.get_or("SINGULARITY_" + text, ""));
    };
    for (const std::string_view name : kSwitches) {
        const std::string value = value_of(name);
        if (value.empty()) {
            continue;
        }
        const auto is_on = read_switch({"APPTAINER_" + std::string(name), value});
        if (!is_on) {
            return fail(ErrorCode::kInput,
                        problem("apptainer-variable-malformed",
                                "APPTAINER_" + std::string(name) + ": '" + printable(value) +
                                    "' is neither true nor false")
                            .about(text::lowered(name), value),
                        "the variable sets a flag of each command",
                        "unset APPTAINER_" + std::string(name));
        }
        flags.verbosity += *is_on && (name == "DEBUG" || name == "VERBOSE") ? 1 : 0;
        flags.is_quiet = flags.is_quiet || (*is_on && (name == "QUIET" || name == "SILENT"));
        flags.is_silent = flags.is_silent || (*is_on && name == "SILENT");
    }
    flags.config = value_of("CONFIG_FILE");
    return {};
}

} // namespace

Result<GlobalFlags> read_global_flags(const std::vector<std::string>& words,
                                      const Environment& environment) {
    struct Row {
        std::string_view name;
        std::string_view letter;
        bool takes_value;
    };
    constexpr Row kGlobal[] = {{"--debug", "-d", false},
                               {"--help", "-h", false},
                               {"--nocolor", "", false},
                               {"--quiet", "-q", false},
                               {"--silent", "-s", false},
                               {"--verbose", "-v", false},
                               {"--version", "", false},
                               {"--build-config", "", false},
                               {"--config", "-c", true}};
    const auto row_of = [&](std::string_view name) {
        return std::ranges::find_if(kGlobal, [&](const Row& one) {
            return one.name == name || (!name.empty() && one.letter == name);
        });
    };
    CYBELE_TRY(const FlagWords read,
               read_flag_words(
                   words,
                   0,
                   [&](std::string_view name) {
                       const auto* const row = row_of(name);
                       return row == std::end(kGlobal) ? std::nullopt
                                                       : std::optional(row->takes_value);
                   },
                   false));
    GlobalFlags flags;
    CYBELE_CHECK(add_global_variables(flags, environment));
    flags.at = words.size() - read.rest.size();
    flags.has_end = flags.at > 0 && words[flags.at - 1] == "--";
    for (const FlagWord& flag : read.flags) {
        const std::string_view name = row_of(flag.name)->name;
        if (name == "--config") {
            flags.config = flag.value.value_or("");
            continue;
        }
        CYBELE_TRY(const bool is_on, read_switch(flag));
        if (!is_on) {
            continue;
        }
        flags.verbosity += name == "--verbose" || name == "--debug" ? 1 : 0;
        flags.is_quiet = flags.is_quiet || name == "--quiet" || name == "--silent";
        flags.is_silent = flags.is_silent || name == "--silent";
        flags.wants_version = flags.wants_version || name == "--version";
        flags.wants_help = flags.wants_help || name == "--help";
    }
    return flags;
}

namespace {

/// --keep-privs or its variable.
bool keeps_privileges(const FlagWords& words, const Environment& environment) {
    FlagWord asked{"--keep-privs",
                   environment.get_or("APPTAINER_KEEP_PRIVS",
                                      environment.get_or("SINGULARITY_KEEP_PRIVS", ""))};
    for (const FlagWord& flag : words.flags) {
        asked = flag.name == asked.name ? flag : asked;
    }
    const auto is_on = read_switch(asked);
    return is_on && *is_on;
}

/// Like there, `..` leads back over a link by which the caller came to the current directory.
std::string path_by_links(const std::string& image, const Environment& environment) {
    std::error_code failed;
    const std::filesystem::path here = environment.get_or("PWD", "");
    if (!image.starts_with("../") || !std::filesystem::equivalent(here, ".", failed) || failed) {
        return image;
    }
    const std::filesystem::path found = (here / image).lexically_normal();
    return std::filesystem::exists(found, failed) ? found.native() : image;
}

/// --cwd and --pwd are two options of Apptainer with one meaning: the variables of each count
/// unless this option is given, and those of --pwd last.
void take_directory(StartOptions& options, const FlagWords& words, const Environment& environment) {
    struct Row {
        std::string_view option;
        std::array<std::string_view, 2> variables;
    };
    constexpr Row kRows[] = {{"--cwd", {"CWD", "TARGET_CWD"}}, {"--pwd", {"PWD", "TARGET_PWD"}}};
    for (const Row& row : kRows) {
        if (contains(words.flags, row.option, &FlagWord::name)) {
            continue;
        }
        std::string value;
        for (const std::string_view prefix : {"APPTAINER_", "SINGULARITY_"}) {
            for (const std::string_view name : row.variables) {
                value = value.empty()
                            ? environment.get_or(std::string(prefix) + std::string(name), "")
                            : value;
            }
        }
        if (!value.empty()) {
            options.request.program.directory = value;
        }
    }
    std::string& directory = options.request.program.directory;
    if (!directory.empty() && directory.front() != '/') {
        directory.insert(0, "/"); // the container's root is the current directory then
    }
}

/// What Apptainer leaves out with a warning.
void settle_contradictions(StartAs& read) {
    runtime::Request& request = read.options.request;
    if (request.image.writable && request.image.writable_tmpfs) {
        request.image.writable_tmpfs = false;
        read.warnings.emplace_back(
            "Disabling --writable-tmpfs flag, mutually exclusive with --writable");
    }
    if (request.user.fakeroot && request.isolation.net && request.isolation.network != "none") {
        request.isolation.network = "none";
        read.warnings.emplace_back("fakeroot with unprivileged installation or 'allow setuid = no' "
                                   "could not use 'fakeroot' network, fallback to 'none' network");
    }
}

void warn_of_unknown_mounts(StartAs& read) {
    constexpr std::string_view kKnown[] = {
        "proc", "sys", "dev", "devpts", "home", "tmp", "hostfs", "cwd", "bind-paths"};
    for (const std::string& text : read.options.request.files.no_mount) {
        for (const std::string& word : read_list(text)) {
            const bool is_known = contains(kKnown, word);
            if (!is_known && !word.starts_with('/')) {
                read.warnings.push_back("Ignoring unknown mount type '" + printable(word) + "'");
            }
        }
    }
}

} // namespace

Result<std::optional<StartAs>> read_start_as(const Session& session,
                                             runtime::Action action,
                                             std::size_t at,
                                             std::size_t least_words,
                                             bool is_instance) {
    StartAs read;
    read.options.is_instance = is_instance;
    read.options.request.program.action = action;
    std::vector<const StartOption*> options; // of the flags; null: --help
    CYBELE_TRY(
        const FlagWords words,
        read_flag_words(
            session.words,
            at,
            [&](std::string_view name) -> std::optional<bool> {
                const bool is_help = name == "--help" || name == "-h";
                options.push_back(is_help ? nullptr : option_named(name, action, is_instance));
                return options.back() != nullptr ? std::optional(!options.back()->value.empty())
                       : is_help                 ? std::optional(false)
                                                 : std::nullopt;
            },
            false));
    std::set<const StartOption*> given;
    for (std::size_t i = 0; i < words.flags.size(); ++i) {
        const FlagWord& flag = words.flags[i];
        const StartOption* const option = options[i];
        if (option == nullptr) { // --help
            return std::optional<StartAs>();
        }
        given.insert(option);
        if (option->has_name("--underlay")) {
            read.warnings.emplace_back(
                "Flag --underlay has been deprecated, default overlay is preferred");
        }
        CYBELE_CHECK(take_flag(read, *option, flag));
    }
    CYBELE_CHECK(
        take_variables(read.options, given, session.environment, read.warnings, &read.notes));
    warn_of_unknown_mounts(read);
    settle_contradictions(read);
    take_directory(read.options, words, session.environment);
    if (::geteuid() != 0 && keeps_privileges(words, session.environment)) {
        return fail(ErrorCode::kEnvironment,
                    problem("keep-privs-root-only", "--keep-privs requires root privileges"),
                    "a user has no capabilities that a container could keep",
                    "leave it out");
    }
    if (words.rest.size() < least_words) {
        return fail(ErrorCode::kUsage,
                    problem("apptainer-command-line",
                            "requires at least " + std::to_string(least_words) +
                                " arg(s), only received " + std::to_string(words.rest.size())));
    }
    read.options.image = path_by_links(words.rest.front(), session.environment);
    const std::ptrdiff_t before = is_instance ? 2 : 1;
    if (is_instance) {
        read.options.request.instance.name = words.rest[1];
    }
    read.options.request.program.arguments.assign(words.rest.begin() + before, words.rest.end());
    return std::optional(std::move(read));
}

void use_start(Session& session, StartAs read) {
    session.verbosity = read.verbosity;
    session.is_quiet = read.is_quiet;
    session.is_silent = read.is_silent;
    session.refuses_with_255 = true;
    session.starts_container = true;
    const auto kept = std::make_shared<StartAs>(std::move(read));
    session.action = [&session, kept] {
        runtime::GlobalOptions global = kept->options.request.global;
        global.follows_apptainer = session.is_apptainer();
        runtime::configure_messages(global);
        for (const std::string& note : kept->notes) {
            session.inform_as_apptainer(note);
        }
        for (const std::string& warning : kept->warnings) {
            if (session.has_warnings()) {
                runtime::warn(warning);
            }
        }
        return start(session, kept->options);
    };
}

} // namespace cybele::cli
