// SPDX-License-Identifier: Apache-2.0
#include "definitions/lint/context.hpp"
#include "definitions/lint/knowledge.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace cybele::definitions {
namespace {

using Names = std::set<std::string, std::less<>>;

/// Always set when %environment is read or %post runs.
constexpr std::array<std::string_view, 8> kAlwaysSet = {
    "PATH", "HOME", "LANG", "TERM", "PS1", "PWD", "LD_LIBRARY_PATH", "IFS"};
/// Exported before %environment is read, by the runtime or by each login, so that an assignment
/// changes them.
constexpr std::array<std::string_view, 10> kExported = {
    "PATH", "HOME", "LANG", "TERM", "PS1", "PWD", "LD_LIBRARY_PATH", "SHELL", "USER", "LOGNAME"};
/// Lists in which an empty element is the current directory: of the loader, of compilers, of
/// Python and of Java. Others skip it (PKG_CONFIG_PATH) or give it another meaning (MANPATH).
constexpr std::array<std::string_view, 11> kEmptyMeansHere = {"LD_LIBRARY_PATH",
                                                              "LD_RUN_PATH",
                                                              "LTDL_LIBRARY_PATH",
                                                              "PYTHONPATH",
                                                              "CLASSPATH",
                                                              "CPATH",
                                                              "C_INCLUDE_PATH",
                                                              "CPLUS_INCLUDE_PATH",
                                                              "OBJC_INCLUDE_PATH",
                                                              "LIBRARY_PATH",
                                                              "COMPILER_PATH"};
/// What programs that are installed below /opt need when they run.
constexpr std::array<std::string_view, 4> kRunSearch = {
    "LD_LIBRARY_PATH", "PYTHONPATH", "PERL5LIB", "R_LIBS"};

/// Read by the shell that reads %environment, so that they need no export.
constexpr std::array<std::string_view, 2> kReadByTheRuntime = {"APPTAINER_SHELL",
                                                               "SINGULARITY_SHELL"};
/// What base images often export; of a base that is not known, nothing is said about them.
constexpr std::array<std::string_view, 14> kOftenExported = {"LC_ALL",
                                                             "LANGUAGE",
                                                             "JAVA_HOME",
                                                             "CUDA_HOME",
                                                             "CUDA_VERSION",
                                                             "NVIDIA_VISIBLE_DEVICES",
                                                             "NVIDIA_DRIVER_CAPABILITIES",
                                                             "NVIDIA_REQUIRE_CUDA",
                                                             "ROS_DISTRO",
                                                             "PYTHONPATH",
                                                             "GOPATH",
                                                             "R_HOME",
                                                             "CONDA_DIR",
                                                             "DEBIAN_FRONTEND"};
/// Set where a container is started: by a login, and by a scheduler or a launcher for each job.
constexpr std::array<std::string_view, 7> kOfTheUser = {
    "USER", "LOGNAME", "SHELL", "HOSTNAME", "DISPLAY", "TMPDIR", "XDG_RUNTIME_DIR"};
constexpr std::array<std::string_view, 9> kOfTheJob = {
    "SLURM_", "PBS_", "LSB_", "LSF_", "SGE_", "JOB_ID", "OMPI_", "PMI_", "PMIX_"};

bool is_build_variable(std::string_view name) {
    return name.starts_with("APPTAINER_") || name.starts_with("SINGULARITY_") ||
           contains(kAlwaysSet, name);
}

/// Whether the host may set it for the container.
bool is_of_the_start(std::string_view name) {
    return contains(kOfTheUser, name) ||
           std::ranges::any_of(kOfTheJob,
                               [&](std::string_view begin) { return name.starts_with(begin); });
}

/// A colour of a terminal, which serves a prompt.
bool is_colour(std::string_view value) {
    return value.find("\\e[") != std::string_view::npos ||
           value.find("\\033[") != std::string_view::npos;
}

struct Assignment {
    const ScriptCommand* command = nullptr;
    const ScriptWord* word = nullptr;
    std::string name;
    std::string value;
    bool is_exported = false;
};

/// `NAME=value` and `export NAME=value` that are commands of their own.
std::vector<Assignment> assignments(const Script& script) {
    std::vector<Assignment> found;
    for (const ScriptCommand& command : script.commands) {
        const bool exports = command.program() == "export";
        const bool is_alone = std::ranges::all_of(command.words, [](const ScriptWord& word) {
            return !assigned_name(word.text).empty();
        });
        for (const ScriptWord& word : command.words) {
            const std::string_view name = assigned_name(word.text);
            if (!name.empty() && (exports || is_alone)) {
                found.push_back({&command,
                                 &word,
                                 std::string(name),
                                 word.text.substr(name.size() + 1),
                                 exports});
            }
        }
    }
    return found;
}

Names names_of(const std::vector<Script>& scripts) {
    Names names;
    for (const Script& script : scripts) {
        for (const Assignment& assignment : assignments(script)) {
            names.insert(assignment.name);
        }
    }
    return names;
}

std::string unquoted(std::string value) {
    std::erase(value, '"');
    return value;
}

/// Whether a command may set any variable: it reads another file into the shell.
bool reads_file(const ScriptCommand& command) {
    const std::string program = command.program();
    return program == "." || program == "source" || program == "eval" || program == "module";
}

/// Which variables a script has set so far.
class SoFar {
public:
    void read(const ScriptCommand& command) {
        has_read_file_ = has_read_file_ || reads_file(command);
        const std::string program = command.program();
        for (std::size_t i = 0; i < command.words.size(); ++i) {
            const std::string& word = command.words[i].text;
            if (const auto name = assigned_name(word); !name.empty()) {
                names_.emplace(name);
            } else if (i > 0 && (program == "for" || program == "read")) {
                names_.emplace(word);
            }
            for (const std::string_view given : {":=", ":?"}) {
                if (const std::size_t at = word.find(given); at != std::string::npos) {
                    const std::size_t begin = word.rfind('{', at);
                    names_.emplace(word.substr(begin + 1, at - begin - 1));
                }
            }
        }
    }
    [[nodiscard]] bool may_hold(std::string_view name) const {
        return has_read_file_ || names_.contains(name);
    }

private:
    Names names_;
    bool has_read_file_ = false;
};

/// `…:$NAME` and `$NAME:…` of a variable that is unset, or an empty element as written.
void search_path(Lint& lint, const Script& script, const Assignment& assignment, bool is_set) {
    const std::string value = unquoted(assignment.value);
    if (!contains(kEmptyMeansHere, assignment.name)) {
        return;
    }
    const std::string plain = "$" + assignment.name;
    const std::string braced = "${" + assignment.name + "}";
    const bool joins = value.ends_with(":" + plain) || value.ends_with(":" + braced) ||
                       value.starts_with(plain + ":") || value.starts_with(braced + ":");
    const bool is_empty =
        value.find("::") != std::string::npos || value.starts_with(':') || value.ends_with(':');
    if ((joins && !is_set && !base_may_set(*script.stage, assignment.name)) || is_empty) {
        lint.tell("CD201",
                  *script.section,
                  *assignment.word,
                  fmt::format("'{}' gets an empty element", assignment.name),
                  joins ? fmt::format("write NEW${{{0}:+:${0}}}", assignment.name)
                        : "remove the colon");
    }
}

/// Each assignment of the scripts, which the runtime joins, with what was set before it.
template <class Visit>
void each_assignment(const std::vector<Script>& scripts, Visit visit) {
    SoFar so_far;
    for (const Script& script : scripts) {
        const std::vector<Assignment> found = assignments(script);
        std::size_t next = 0;
        for (const ScriptCommand& command : script.commands) {
            for (; next < found.size() && found[next].command == &command; ++next) {
                visit(script, found[next], so_far);
            }
            so_far.read(command);
        }
    }
}

void blanks(Lint& lint, const Script& script) {
    for (const ScriptCommand& command : script.commands) {
        if (command.program() != "export") {
            continue;
        }
        for (std::size_t i = command.program_index() + 2; i < command.words.size(); ++i) {
            const ScriptWord& word = command.words[i];
            const std::string& before = command.words[i - 1].text;
            const bool follows = !assigned_name(before).empty() && !before.ends_with("{{");
            // `export A=1 \` and a line `export B=2` export a name more, and no harm is done; a
            // comment in backquotes is not a word.
            if (follows && assigned_name(word.text).empty() && word.text.front() != '<' &&
                word.text.front() != '>' && word.text != "export" && !word.text.starts_with("`#")) {
                lint.tell(
                    "CD209",
                    *script.section,
                    word,
                    fmt::format("'{}' is not a part of the value before it", printable(word.text)));
            }
        }
    }
}

bool exports_all(const Script& script) {
    return std::ranges::any_of(script.commands, [](const auto& command) {
        return command.program() == "set" && command.has_word("-a");
    });
}

/// `export NAME` without a value, in any of the scripts.
bool is_exported_later(const std::vector<Script>& scripts, std::string_view name) {
    return std::ranges::any_of(scripts, [&](const Script& script) {
        return std::ranges::any_of(script.commands, [&](const auto& command) {
            const std::string program = command.program();
            return (program == "export" || program == "declare" || program == "typeset") &&
                   command.has_word(name);
        });
    });
}

/// Whether the value serves another assignment, so that it need not reach a program.
bool serves_others(const std::vector<Script>& scripts, std::string_view name) {
    return std::ranges::any_of(scripts, [&](const Script& script) {
        return std::ranges::any_of(script.commands, [&](const auto& command) {
            return std::ranges::any_of(command.words, [&](const auto& word) {
                const std::vector<std::string> used = used_names(word.text);
                return assigned_name(word.text) != name && contains(used, name);
            });
        });
    });
}

/// Whether an assignment reaches the program that the container starts.
bool reaches_programs(const std::vector<Script>& all,
                      const Script& script,
                      const Assignment& assignment) {
    const bool may_be_exported = has_known_base(*script.stage)
                                     ? base_may_set(*script.stage, assignment.name)
                                     : contains(kOftenExported, assignment.name);
    return assignment.is_exported || contains(kExported, assignment.name) ||
           contains(kReadByTheRuntime, assignment.name) || may_be_exported ||
           is_exported_later(all, assignment.name) || exports_all(script);
}

/// An assignment whose value no program of the container sees.
void unexported(Lint& lint,
                const std::vector<Script>& all,
                const Script& script,
                const Assignment& assignment) {
    // An empty value unsets the host's variable, exported or not.
    const bool is_empty = unquoted(assignment.value).empty() || assignment.value == "''";
    const bool is_of_apt = assignment.name == "DEBIAN_FRONTEND";
    if (!is_empty && !is_of_apt && !reaches_programs(all, script, assignment) &&
        !serves_others(all, assignment.name) && !is_colour(assignment.value)) {
        lint.tell(
            "CD202",
            *script.section,
            *assignment.word,
            has_known_base(*script.stage)
                ? fmt::format("'{}' is not exported", assignment.name)
                : fmt::format("'{}' is exported only if the base exports it", assignment.name),
            fmt::format("write 'export {}=…'", assignment.name));
    }
}

/// The variables that a value uses and nothing sets.
void unset_names(Lint& lint,
                 const Script& script,
                 const Assignment& assignment,
                 const Names& known,
                 const SoFar& so_far) {
    for (const std::string& used : used_names(assignment.value)) {
        if (used != assignment.name && !known.contains(used) && !so_far.may_hold(used) &&
            !is_build_variable(used) && !is_of_the_start(used) &&
            !base_may_set(*script.stage, used)) {
            lint.tell("CD204",
                      *script.section,
                      *assignment.word,
                      fmt::format("'${}' is set by nothing that stands here", used));
        }
    }
}

/// Whether each start computes what the build could have computed.
bool is_computed(const std::string& value) {
    return runs_command(value) && !asks_for_the_start(value);
}

void environment_value(Lint& lint,
                       const std::vector<Script>& all,
                       const Script& script,
                       const Assignment& assignment,
                       const Names& known,
                       const SoFar& so_far) {
    const Section& section = *script.section;
    const bool is_of_apt = assignment.name == "DEBIAN_FRONTEND";
    unexported(lint, all, script, assignment);
    if (is_computed(assignment.value)) {
        lint.tell("CD203",
                  section,
                  *assignment.word,
                  fmt::format("'{}' is computed at every start", assignment.name));
    }
    unset_names(lint, script, assignment, known, so_far);
    if (is_of_apt && (assignment.is_exported || is_exported_later(all, assignment.name))) {
        lint.tell("CD207", section, *assignment.word, "DEBIAN_FRONTEND reaches the users");
    }
}

void environment(Lint& lint, const Script& script) {
    blanks(lint, script);
    for (const ScriptCommand& command : script.commands) {
        const std::string program = command.program();
        if (program == "source") {
            lint.tell("CD205",
                      *script.section,
                      command.words.front(),
                      "'source' is not a word of POSIX sh");
        } else if ((program == "exit" && !command.is_nested && command.joined == Join::kEnd) ||
                   (program == "set" && !command.has_word("-a") && !command.has_word("--"))) {
            lint.tell("CD206",
                      *script.section,
                      command.words.front(),
                      fmt::format("'{}' runs at every start of the container", program));
        }
    }
}

/// What %post uses before it sets it, although only %environment has it. Sections of one name are
/// one script.
void used_in_post(Lint& lint, const std::vector<Script>& posts, const Names& environment) {
    SoFar so_far;
    Names told;
    for (const Script& script : posts) {
        for (const ScriptCommand& command : script.commands) {
            for (const ScriptWord& word : command.words) {
                for (const std::string& used : used_names(word.text)) {
                    const bool joins_itself = assigned_name(word.text) == used; // CD201 tells
                    if (environment.contains(used) && !joins_itself && !so_far.may_hold(used) &&
                        !contains(kAlwaysSet, used) && !base_may_set(*script.stage, used) &&
                        told.insert(used).second) {
                        lint.tell("CD210",
                                  *script.section,
                                  word,
                                  fmt::format("'${}' is empty here", used));
                    }
                }
            }
            so_far.read(command);
        }
    }
}

/// What the image's scripts use when it runs, and where %post writes lines for the environment.
struct RunTime {
    std::string scripts;
    std::string post;
    Names environment;
};

/// Whether a value of %post is missed when the image runs: a script of it uses the variable, or a
/// program below /opt or /usr/local is found by it.
bool is_missed(const RunTime& run, const Stage& stage, const Assignment& assignment) {
    const std::string& name = assignment.name;
    const bool is_used = run.scripts.find("$" + name) != std::string::npos ||
                         run.scripts.find("${" + name) != std::string::npos;
    const bool is_search =
        contains(kRunSearch, name) && (assignment.value.find("/opt/") != std::string::npos ||
                                       assignment.value.find("/usr/local/") != std::string::npos);
    const bool is_written = run.post.find("_ENVIRONMENT") != std::string::npos ||
                            run.post.find("/.singularity.d/env") != std::string::npos ||
                            run.post.find("/environment") != std::string::npos ||
                            run.post.find("/etc/profile") != std::string::npos;
    const bool is_set_there = run.environment.contains(name) ||
                              run.scripts.find(name + "=") != std::string::npos ||
                              run.scripts.find("for " + name + " ") != std::string::npos;
    return (is_used || is_search) && !is_set_there && !is_written && !base_may_set(stage, name);
}

void exports_of_post(Lint& lint, const std::vector<Script>& posts, const RunTime& run) {
    Names told;
    each_assignment(
        posts, [&](const Script& script, const Assignment& assignment, const SoFar& so_far) {
            const bool is_set =
                so_far.may_hold(assignment.name) || contains(kAlwaysSet, assignment.name);
            search_path(lint, script, assignment, is_set);
            const bool is_kept = script.stage == &lint.stages().back();
            if (is_kept && assignment.is_exported && is_missed(run, *script.stage, assignment) &&
                told.insert(assignment.name).second) {
                lint.tell("CD208",
                          *script.section,
                          *assignment.word,
                          fmt::format("'{}' is unset when the image runs", assignment.name));
            }
        });
    for (const Script& script : posts) {
        blanks(lint, script);
    }
}

void python(Lint& lint, const Stage& stage, const Names& environment) {
    for (const Script& script : scripts_of(stage, {"post"})) {
        for (const ScriptCommand& command : script.commands) {
            const bool installs = (command.program() == "pip" || command.program() == "pip3") &&
                                  command.has_word("install");
            if (installs && !environment.contains("PYTHONNOUSERSITE")) {
                lint.tell("CD211",
                          *script.section,
                          command.words.front(),
                          "Python packages of the user come before these");
                return;
            }
        }
    }
}

} // namespace

void lint_environment(Lint& lint) {
    for (const Stage& stage : lint.stages()) {
        const auto scripts = scripts_of(stage, {"environment", "appenv"});
        const auto posts = scripts_of(stage, {"post"});
        const Names names = names_of(scripts);
        each_assignment(
            scripts, [&](const Script& script, const Assignment& assignment, const SoFar& so_far) {
                environment_value(lint, scripts, script, assignment, names, so_far);
                search_path(lint, script, assignment, so_far.may_hold(assignment.name));
            });
        for (const Script& script : scripts) {
            environment(lint, script);
        }
        RunTime run;
        run.post = stage.joined("post");
        run.environment = names;
        for (const char* section : {"runscript", "startscript", "apprun", "appstart"}) {
            run.scripts += stage.joined(section);
        }
        exports_of_post(lint, posts, run);
        used_in_post(lint, posts, names_of(scripts_of(stage, {"environment"})));
        python(lint, stage, names);
    }
}

} // namespace cybele::definitions
