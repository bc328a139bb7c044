// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/common/session.hpp"
#include "runtime/containers/runtime.hpp"

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::cli {

struct StartOption;

/// For an image of a registry: see cli/image/uri.hpp.
struct UriWords {
    bool has_no_cache = false;
    bool has_plain_http = false;
    std::string ca_file;
    std::string authfile;
    std::string architecture; ///< empty: this machine's
    std::string temporary;
    std::string user;
    std::string password;
    bool asks_for_login = false; ///< --docker-login
};

/// Why a value that should be a number is not accepted.
inline constexpr std::string_view kNotAnInteger = "it is not an integer";

/// What `exec`, `run`, `shell` and `test` were given.
struct StartOptions : UriWords {
    runtime::Request request;
    std::string image;
    std::vector<std::string> variables;
    std::vector<std::string> verify_keys;
    std::string policy;
    std::string require;
    /// Things of the host by the Container Device Interface.
    std::vector<std::string> devices;
    std::vector<std::string> device_folders;
    std::set<const StartOption*> given; ///< by the command line
    std::string pid_file;               ///< of the instance that is to be started
    std::string site_settings;          ///< --config: in place of the host's apptainer.conf
    bool is_instance = false;

    [[nodiscard]] bool asks_for_signatures() const {
        return !verify_keys.empty() || !policy.empty() || !require.empty();
    }
};

/// How an option is used.
enum class Use {
    kFlag,    ///< without a value
    kOnce,    ///< a value; in Apptainer's way the last one counts
    kEach,    ///< a value each time
    kList,    ///< the same, and in Apptainer's way each value is a list with commas
    kRefused, ///< known, with a reason why it is not carried
};

/// An option of these verbs: how it is written, what it means, and where its value goes.
struct StartOption {
    std::string_view names;     ///< with commas; a letter has one hyphen, a word two
    std::string_view value;     ///< what it takes, as the help names it; empty: it is a flag
    std::string_view variables; ///< APPTAINER_X and SINGULARITY_X for each X, with blanks between
    Use use;
    std::string_view description; ///< of a refused one: why
    /// Takes the value (a flag: nothing in it); what is wrong with it, else nothing.
    std::string (*take)(StartOptions& options, std::string_view value) = nullptr;
    bool is_of_shell = false;    ///< and of no other verb
    bool is_ours = false;        ///< Apptainer has no such option
    bool is_usual = false;       ///< shown by `--help`, not only in the reference
    bool is_of_instance = false; ///< of `instance start|run` only

    [[nodiscard]] bool may_repeat() const {
        return use != Use::kOnce;
    }
    [[nodiscard]] bool has_name(std::string_view name) const;
    /// Whether a start of this kind has it.
    [[nodiscard]] bool is_of(runtime::Action action, bool is_instance) const {
        return (!is_of_shell || action == runtime::Action::kShell) &&
               (!is_of_instance || is_instance);
    }
    /// The first long name, with its hyphens.
    [[nodiscard]] std::string_view long_name() const;
};

/// In the order of the help.
[[nodiscard]] std::span<const StartOption> start_options();

/// Gives an option a value; what is wrong with it, else nothing.
[[nodiscard]] std::string
give(const StartOption& option, StartOptions& options, std::string_view value);

/// Takes the options that APPTAINER_X and SINGULARITY_X set and that were not `given`; those that
/// may be repeated for mounts are added. Warnings go to `warnings`, and names that Apptainer has
/// replaced to `notes`. kUsage: a value that the option does not accept, or an option that is
/// refused.
[[nodiscard]] Result<void> take_variables(StartOptions& options,
                                          const std::set<const StartOption*>& given,
                                          const Environment& environment,
                                          std::vector<std::string>& warnings,
                                          std::vector<std::string>* notes = nullptr);

/// Whether its image names an instance, in which the program is started.
[[nodiscard]] bool is_running_instance(const StartOptions& options);

/// Starts the container in place of this process; returns as runtime::start() does.
[[nodiscard]] Result<int> start(const Session& session, StartOptions& options);

} // namespace cybele::cli
