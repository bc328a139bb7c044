// SPDX-License-Identifier: Apache-2.0
#include "schedulers/reading/program_lines.hpp"

#include "schedulers/reading/asked_parts.hpp"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

namespace cybele::schedulers {
namespace {

std::string_view base_name(std::string_view path) {
    const auto slash = path.rfind('/');
    return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

template <std::size_t kSize>
bool is_listed_program(std::string_view word, const std::array<std::string_view, kSize>& words) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

constexpr std::array<std::string_view, 4> kMpirun{"mpirun", "mpiexec", "mpiexec.hydra", "orterun"};
constexpr std::array<std::string_view, 3> kRuntimes{"apptainer", "singularity", "cybelectl"};
/// Variables that a rendered script sets from the Job.
constexpr std::array<std::string_view, 8> kSetByUs{"OMP_NUM_THREADS",
                                                   "MKL_NUM_THREADS",
                                                   "OPENBLAS_NUM_THREADS",
                                                   "BLIS_NUM_THREADS",
                                                   "NUMEXPR_NUM_THREADS",
                                                   "SRUN_CPUS_PER_TASK",
                                                   "SLURM_EXPORT_ENV",
                                                   "OMP_PROC_BIND"};
/// Options of launchers and runtimes that take a word of their own.
constexpr std::array<std::string_view, 26> kTakeWord{
    "-np",       "-n",           "--np",      "-N",
    "--ntasks",  "--nodes",      "-c",        "--cpus-per-task",
    "-x",        "--host",       "-H",        "--map-by",
    "-map-by",   "--rank-by",    "--bind-to", "-bind-to",
    "-B",        "--bind",       "--mpi",     "--hostfile",
    "-hostfile", "-machinefile", "-f",        "--ntasks-per-node",
    "--env",     "--pwd"};

/// The words of one launch, read from left to right.
class Launch {
public:
    Launch(const ShellCommand& command, Program& program) : command_(command), program_(program) {}

    /// False where the words are no launch that a Job could say.
    bool read() {
        for (const auto& word : command_.words) {
            if (word.is_redirection) {
                leave(
                    word.raw, "a Job names its outputs in `output`", "write `output: {stdout: …}`");
            } else {
                words_.push_back(&word);
            }
        }
        take_assignments();
        take_launcher();
        take_runtime();
        return take_command();
    }

private:
    [[nodiscard]] bool is_done() const {
        return at_ >= words_.size();
    }
    [[nodiscard]] const std::string& text() const {
        return words_[at_]->text;
    }
    void leave(const std::string& text, const char* because, const char* help) {
        program_.left.push_back({command_.line, text, because, help});
    }

    void take_assignments() {
        while (!is_done()) {
            const auto equals = text().find('=');
            const bool is_one = equals != std::string::npos && text().find_first_of("/-.") > equals;
            if (!is_one) {
                return;
            }
            program_.environment[text().substr(0, equals)] = text().substr(equals + 1);
            ++at_;
        }
    }

    /// An option with its value: `--mpi=pmix`, `--mpi pmix`, `-np 4`.
    struct Option {
        std::string name;
        std::string value;
        std::string raw;
    };
    Option take_option() {
        Option option;
        const auto equals = text().find('=');
        option.name = text().substr(0, equals);
        option.raw = words_[at_]->raw;
        if (equals != std::string::npos) {
            option.value = text().substr(equals + 1);
        } else if (is_listed_program(option.name, kTakeWord) && at_ + 1 < words_.size()) {
            ++at_;
            option.value = text();
            option.raw += " " + words_[at_]->raw;
        } else if ((option.name == "--mca" || option.name == "-mca" || option.name == "-genv") &&
                   at_ + 2 < words_.size()) {
            option.raw += " " + words_[at_ + 1]->raw + " " + words_[at_ + 2]->raw;
            at_ += 2;
        }
        ++at_;
        return option;
    }

    void take_launcher() {
        if (is_done()) {
            return;
        }
        const bool is_srun = base_name(text()) == "srun";
        if (!is_srun && !is_listed_program(base_name(text()), kMpirun)) {
            return;
        }
        program_.launch = "mpi";
        program_.launcher = is_srun ? "srun" : "mpirun";
        ++at_;
        while (!is_done() && text().starts_with('-')) {
            put_launcher_option(take_option());
        }
    }

    void put_launcher_option(const Option& option) {
        // What a rendered script says itself, from the Job's resources.
        constexpr std::array<std::string_view, 22> kSaid{"-N",
                                                         "--nodes",
                                                         "-c",
                                                         "--cpus-per-task",
                                                         "--ntasks-per-node",
                                                         "--map-by",
                                                         "-map-by",
                                                         "--bind-to",
                                                         "-bind-to",
                                                         "--hostfile",
                                                         "-hostfile",
                                                         "-machinefile",
                                                         "-f",
                                                         "-x",
                                                         "--kill-on-bad-exit",
                                                         "-K",
                                                         "--rank-by",
                                                         "--oversubscribe",
                                                         "-l",
                                                         "--label",
                                                         "--exact",
                                                         "--overlap"};
        const bool is_count = option.name == "-np" || option.name == "-n" ||
                              option.name == "--np" || option.name == "--ntasks";
        if (is_count) {
            program_.ranks = whole_number(option.value);
        } else if (option.name == "--mpi") {
            program_.pmi = option.value.starts_with("pmix") ? "pmix" : option.value;
        } else if (option.name == "--allow-run-as-root") {
            program_.allow_root = true;
        } else if (!is_listed_program(option.name, kSaid)) {
            leave(option.raw,
                  "a Job's launch has no field for it",
                  "put it into `options` under launch");
        }
    }

    void take_runtime() {
        if (is_done() || !is_listed_program(base_name(text()), kRuntimes) ||
            at_ + 1 >= words_.size()) {
            return;
        }
        const std::string action = words_[at_ + 1]->text;
        if (action != "exec" && action != "run") {
            return;
        }
        at_ += 2;
        while (!is_done() && text().starts_with('-')) {
            put_runtime_option(take_option());
        }
        if (!is_done()) {
            program_.image = text();
            if (words_[at_]->has_expansion) {
                leave(words_[at_]->raw,
                      "no variable stands in a Job's `image`",
                      "write the path itself");
            }
            ++at_;
        }
    }

    void put_runtime_option(const Option& option) {
        if (option.name == "-B" || option.name == "--bind") {
            std::string_view text = option.value;
            while (!text.empty()) {
                const auto item = text.substr(0, text.find(','));
                text.remove_prefix(std::min(item.size() + 1, text.size()));
                program_.binds.emplace_back(item);
            }
        } else if (option.name == "--env") {
            const auto equals = option.value.find('=');
            program_.environment[option.value.substr(0, equals)] =
                equals == std::string::npos ? "" : option.value.substr(equals + 1);
        } else if (option.name != "--nv" && option.name != "--rocm") {
            leave(option.raw,
                  "a Job does not give options to the runtime",
                  "look whether it is needed");
        }
    }

    bool take_command() {
        if (is_done() && program_.image.empty()) {
            return false;
        }
        if (!is_done() && text() == "torchrun") {
            program_.launch = "torch";
        }
        for (; !is_done(); ++at_) {
            if (words_[at_]->has_expansion) {
                return false;
            }
            program_.command.push_back(text());
        }
        if (program_.launch.empty()) {
            program_.launch = "serial";
        }
        return true;
    }

    const ShellCommand& command_;
    Program& program_;
    std::vector<const ShellWord*> words_;
    std::size_t at_ = 0;
};

/// A line of the body that a rendered script does by itself, or that belongs into another document.
bool is_settled(const ShellCommand& command, Program& program) {
    const auto name = command.program();
    const auto raw = [&] {
        std::string text;
        for (const auto& word : command.words) {
            text += (text.empty() ? "" : " ") + word.raw;
        }
        return text;
    };
    if (name == "set" || name == "wait" || name == "date" || name == "hostname" ||
        (name == "cd" &&
         (command.has_start("$PBS_O_WORKDIR") || command.has_start("${PBS_O_WORKDIR") ||
          command.has_start("$SLURM_SUBMIT_DIR") || command.has_start("${SLURM_SUBMIT_DIR")))) {
        return true;
    }
    if (name == "module" || name == "ml" || name == "source" || name == ".") {
        program.left.push_back({command.line,
                                raw(),
                                "a Job does not say how a site is set up",
                                "write modules into the Site"});
        return true;
    }
    if (name != "export") {
        return false;
    }
    for (const auto& word : command.words) {
        const auto equals = word.text.find('=');
        const std::string variable = word.text.substr(0, equals);
        if (word.text == "export") {
            continue;
        }
        if (variable == "OMP_NUM_THREADS" && equals != std::string::npos) {
            program.threads = whole_number(word.text.substr(equals + 1));
        }
        if (is_listed_program(variable, kSetByUs)) {
            continue;
        }
        if (equals == std::string::npos || word.has_expansion) {
            program.left.push_back({command.line,
                                    word.raw,
                                    "a Job's `environment` holds values, no expressions",
                                    "write the value into `environment`"});
        } else {
            program.environment[variable] = word.text.substr(equals + 1);
        }
    }
    return true;
}

/// The body as it stands, without directives and settled lines.
std::string body_text(const BatchScript& script, const std::set<std::size_t>& settled) {
    std::string text;
    for (std::size_t index = 0; index < script.lines.size(); ++index) {
        const auto& line = script.lines[index];
        const auto start = line.find_first_not_of(" \t");
        const bool is_comment = start == std::string::npos || line[start] == '#';
        const bool is_early = script.first_command == 0 || index + 1 < script.first_command;
        if (is_early || settled.contains(index + 1) || (is_comment && text.empty())) {
            continue;
        }
        text += line + "\n";
    }
    return text;
}

} // namespace

Program read_program(const BatchScript& script) {
    Program program;
    std::set<std::size_t> settled;
    std::vector<const ShellCommand*> rest;
    for (const ShellCommand& command : script.commands) {
        if (is_settled(command, program)) {
            settled.insert(command.line);
        } else {
            rest.push_back(&command);
        }
    }
    if (rest.size() == 1 && rest.front()->before.empty() &&
        (rest.front()->after == "\n" || rest.front()->after == ";")) {
        Program with = program;
        if (Launch(*rest.front(), with).read()) {
            return with;
        }
    }
    if (!rest.empty()) {
        program.script = body_text(script, settled);
    }
    return program;
}

} // namespace cybele::schedulers
