// SPDX-License-Identifier: Apache-2.0
#include "definitions/grammar/grammar.hpp"
#include "definitions/lint/context.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace cybele::definitions {
namespace {

/// Packages and sources whose mpicc and mpirun lie on the search path.
struct MpiWord {
    std::string_view begin;
    std::string_view mpi;
};
constexpr std::array kMpiWords = {MpiWord{"libopenmpi-dev", "Open MPI"},
                                  MpiWord{"openmpi-bin", "Open MPI"},
                                  MpiWord{"openmpi", "Open MPI"},
                                  MpiWord{"libmpich-dev", "MPICH"},
                                  MpiWord{"mpich", "MPICH"},
                                  MpiWord{"mvapich2", "MVAPICH2"}};

void two_mpis(Lint& lint, const Stage& stage) {
    std::string_view first;
    for (const Script& script : scripts_of(stage, {"post"})) {
        for (const ScriptCommand& command : script.commands) {
            const bool installs = command.has_word("install") || command.has_word("add");
            for (const ScriptWord& word : command.words) {
                const auto* const row = std::ranges::find_if(kMpiWords, [&](const MpiWord& mpi) {
                    return installs && word.text.starts_with(mpi.begin) &&
                           !word.text.ends_with("-doc");
                });
                if (row == kMpiWords.end()) {
                    continue;
                }
                if (!first.empty() && first != row->mpi) {
                    lint.tell("CD502",
                              *script.section,
                              word,
                              fmt::format("{} joins {} in this stage", row->mpi, first));
                }
                first = first.empty() ? row->mpi : first;
            }
        }
    }
}

bool mentions(std::string_view text, std::initializer_list<std::string_view> words) {
    return std::ranges::any_of(
        words, [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

void configure_options(Lint& lint, const Script& script) {
    const std::string& text = script.section->text;
    const bool is_5 = mentions(text, {"openmpi-5.", "ompi-5.", "openmpi/v5"});
    const bool is_40 = mentions(text, {"openmpi-4.0.", "ompi-4.0."});
    const bool has_new_pmix = mentions(text, {"pmix-4.", "pmix-5.", "pmix/v4", "pmix/v5"});
    for (const ScriptCommand& command : script.commands) {
        for (const ScriptWord& word : command.words) {
            const bool is_pmi = word.text == "--with-pmi" || word.text.starts_with("--with-pmi=");
            if (is_5 && is_pmi && command.program() == "configure") {
                lint.tell("CD504", *script.section, word, "Open MPI 5 knows no --with-pmi");
            }
            if (is_40 && has_new_pmix && word.text.starts_with("--with-pmix=")) {
                lint.tell("CD505",
                          *script.section,
                          word,
                          "Open MPI 4.0 does not accept PMIx of release 4 or later");
            }
        }
    }
}

/// Whether a program that the container starts sees the variable.
bool is_exported(const Script& script, const ScriptCommand& command, std::string_view name) {
    return command.program() == "export" ||
           std::ranges::any_of(script.commands, [&](const ScriptCommand& other) {
               return (other.program() == "export" && other.has_word(name)) ||
                      (other.program() == "set" && other.has_word("-a"));
           });
}

void launch_settings(Lint& lint, const Script& script) {
    constexpr std::array<std::string_view, 4> kBegins = {
        "OMP_NUM_THREADS", "OMPI_MCA_", "UCX_", "PMIX_MCA_"};
    for (const ScriptCommand& command : script.commands) {
        for (const ScriptWord& word : command.words) {
            const std::string_view name = assigned_name(word.text);
            const bool is_default = word.text.find("${" + std::string(name) + ":-") !=
                                    std::string::npos; // the job's value counts
            const std::string low = lower(name);
            const bool is_message = mentions(low, {"warn", "allow_run_as_root", "show_help"});
            const bool is_place = name.ends_with("_DIR") || name.ends_with("_HOME") ||
                                  name.ends_with("_VERSION") || name.ends_with("_ROOT");
            if (!is_default && !is_place && !is_message && is_exported(script, command, name) &&
                std::ranges::any_of(
                    kBegins, [&](std::string_view begin) { return name.starts_with(begin); })) {
                lint.tell("CD506",
                          *script.section,
                          word,
                          fmt::format("'{}' is fixed for every job", printable(name)));
            }
        }
    }
}

} // namespace

void lint_places(Lint& lint) {
    for (const Stage& stage : lint.stages()) {
        two_mpis(lint, stage);
        for (const Script& script : scripts_of(stage, {"post"})) {
            configure_options(lint, script);
        }
        for (const Script& script : scripts_of(stage, {"environment"})) {
            launch_settings(lint, script);
        }
        for (const Section& section : stage.sections) {
            if ((section.name == "pre" || section.name == "setup") &&
                !script_commands(section.text).empty()) {
                lint.tell("CD507",
                          {section.line, 0},
                          fmt::format("'%{}' runs on the host", section.name));
            }
        }
    }
}

} // namespace cybele::definitions
