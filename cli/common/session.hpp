// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/settings.hpp"
#include "support/environment.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace CLI {
class App;
}

namespace cybele::cli {

struct StartOptions;

/// What a command that reports nothing for a while waits for: its own work, or others, such as a
/// queue.
enum class Wait { kForOwn, kForOthers };

/// Reports what takes long (cli/common/heartbeat.hpp).
class LongWork {
public:
    LongWork() = default;
    LongWork(const LongWork&) = delete;
    LongWork& operator=(const LongWork&) = delete;
    virtual ~LongWork() = default;
    virtual void doing(std::string what, Wait wait) = 0;
    virtual void touch() = 0;
    [[nodiscard]] virtual std::string line_of(std::string_view what) const = 0;
};

/// "text": messages are text where the result is JSON.
inline constexpr std::string_view kMessagesVariable = "CYBELE_MESSAGES";

/// What one call of the program holds: its environment, its streams and what the verb is to do.
struct Session {
    Environment environment;
    /// "apptainer" or "singularity", where the program was called by such a name: then its messages
    /// and exit codes are those of that program. Empty: by any other name.
    std::string apptainer_name;
    bool prints_info = false;       ///< by such a name: INFO lines, without --quiet
    std::string program;            ///< path of this program; empty in the small one that starts
    std::vector<std::string> words; ///< of the command line, behind the program's name
    std::string format = "text";
    int verbosity = 0;
    bool is_quiet = false;
    bool is_silent = false;        ///< by the name of Apptainer, -s: errors only
    bool starts_container = false; ///< by such a name: the verb starts one
    bool no_colour = false;
    bool is_terminal = false; ///< standard error is one
    /// Set by the verb's callback: does the work, gives the exit code.
    std::function<Result<int>()> action;
    /// Verbs that pass on a program's code tell their own refusals by 255 (DESIGN: exit codes).
    bool refuses_with_255 = false;
    /// Of exec, run and shell: everything behind the image, which belongs to the program.
    std::vector<std::string> program_arguments;
    /// Of exec, run and shell: the path of an image, which may be one of the store (`store:NAME`)
    /// or of a registry.
    std::function<Result<std::string>(const StartOptions& options)> find_image;
    /// Of exec, run and shell: puts a demand for signatures into the request. Unset in the small
    /// program that starts.
    std::function<Result<void>(const Session& session, StartOptions& options)> demand_signatures;
    /// Starts an instance, or in one. Unset in the small program that starts.
    std::function<Result<int>(const Session&, const StartOptions&)> start_with_instance;
    /// What SIGPIPE did before main() ignored it; a started program gets it back.
    void (*sigpipe_before)(int) = nullptr;
    /// Variables of folders whose relative path is ignored.
    std::vector<std::string> ignored_folders;
    /// What settings() found, and in which environment.
    mutable std::optional<std::pair<Environment, pipeline::Settings>> known_settings;
    /// Unset in the small program that starts.
    LongWork* long_work = nullptr;

    [[nodiscard]] bool is_apptainer() const {
        return !apptainer_name.empty();
    }
    [[nodiscard]] bool is_json() const {
        return format == "json";
    }
    /// Of checks: what is noted is collected, and printed as SARIF at the end.
    [[nodiscard]] bool is_sarif() const {
        return format == "sarif";
    }
    mutable std::optional<std::vector<Fault>> collected;
    std::string checked_file; ///< where a fault without a place belongs
    /// Faults of the programs that `build --all` starts are for the user's terminal, while their
    /// result is for that command.
    [[nodiscard]] bool has_json_messages() const {
        return is_json() && environment.get_or(kMessagesVariable, "") != "text";
    }
    /// A SOURCE_DATE_EPOCH that is no time is kUsage: nobody wants the clock's instead.
    [[nodiscard]] Result<void> check_epoch() const;
    /// For what is written: Unix seconds by SOURCE_DATE_EPOCH, else the clock.
    [[nodiscard]] std::int64_t now() const;
    /// For what is judged (is a key valid now?): Unix seconds by the clock, whatever is set.
    [[nodiscard]] static std::int64_t clock();
    [[nodiscard]] bool is_deterministic() const;
    /// The effective settings (flag > variable > project > user > machine > default), read
    /// once in an environment. The first call reports what is ignored, and with -v which files
    /// count.
    [[nodiscard]] Result<pipeline::Settings> settings() const;
    /// A progress line on standard error: on a terminal, with -v, or a `warning: `; not with -q.
    void say(std::string_view line) const;
    /// By the name of Apptainer: its line "INFO:    TEXT" on standard error; not with -q.
    void inform_as_apptainer(std::string_view text) const;
    /// Its line "WARNING: TEXT"; not with -s.
    void warn_as_apptainer(std::string_view text) const;
    /// A step of what may take long: as say(), with the seconds since the start. Where nothing was
    /// written for ten seconds the line comes (again), also without a terminal; not with -q, nor
    /// where messages are JSON.
    void work(std::string_view line) const;
    /// What is being done, said only after ten seconds without a line; empty: nothing any more.
    void doing(const std::string& what, Wait wait = Wait::kForOwn) const;
    /// Something was written to standard error.
    void touch() const;
    /// Errors, warnings and notes on standard error; with -q only what is an error, or counts as
    /// one.
    void note(const std::vector<Fault>& faults, bool are_errors = false) const;
    /// Whether warnings are written; by the name of Apptainer -q leaves them and -s does not,
    /// as there.
    [[nodiscard]] bool has_warnings() const {
        return !is_silent && (!is_quiet || is_apptainer());
    }
    /// Writes to standard output; a closed pipe ends the program quietly.
    static void print(std::string_view text);
    /// Ends by SIGPIPE, as programs do whose reader is gone and wanted no more.
    [[noreturn]] static void end_without_reader();
    /// The same, where the command goes on without a reader: the error.
    [[nodiscard]] static Result<void> try_print(std::string_view text);
};

enum class Formats { kUsual, kAlsoSarif };

/// `verb.option("--format", …)` with text and json, and for checks sarif.
void add_format(CLI::App& verb, Session& session, Formats formats = Formats::kUsual);

/// A verb with its help: one sentence and examples (a line each).
CLI::App* add_verb(CLI::App& parent,
                   const std::string& name,
                   const std::string& description,
                   const std::vector<std::string>& examples);

/// `--version --format json`: the version, how it was built, and what it can do.
[[nodiscard]] std::string version_json();

using Install = void (*)(CLI::App&, Session&);

void install_build(CLI::App& app, Session& session);
void install_cache(CLI::App& app, Session& session);
void install_sign(CLI::App& app, Session& session);
void install_key(CLI::App& app, Session& session);
void install_inspect(CLI::App& app, Session& session);
void install_sif(CLI::App& app, Session& session);
/// Below `image`.
void install_image_diff(CLI::App& image, Session& session);
void install_image(CLI::App& app, Session& session);
void install_run(CLI::App& app, Session& session);
void install_recipe(CLI::App& app, Session& session);
/// Below `recipe`.
void install_recipe_import(CLI::App& recipe, Session& session);
/// Below `recipe`.
void install_recipe_lock(CLI::App& recipe, Session& session);
void install_job(CLI::App& app, Session& session);
void install_kube(CLI::App& app, Session& session);
void install_submit(CLI::App& app, Session& session);
void install_init(CLI::App& app, Session& session);
void install_site(CLI::App& app, Session& session);
void install_generate(CLI::App& app, Session& session);
void install_host(CLI::App& app, Session& session);
void install_apptainer_name(CLI::App& app, Session& session);
void install_explain(CLI::App& app, Session& session);
void install_help(CLI::App& app, Session& session);
void install_completion(CLI::App& app, Session& session);

} // namespace cybele::cli
