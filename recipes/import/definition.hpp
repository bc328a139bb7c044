// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "definitions/grammar/definition.hpp"
#include "recipes/forms/ledger.hpp"
#include "recipes/import/draft.hpp"
#include "recipes/import/import.hpp"
#include "support/error.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

/// Definition files of Apptainer and Singularity.
namespace cybele::recipes::definition_file {

/// A section with its lines in the file, the section line included.
struct Part {
    const definitions::Section* section = nullptr;
    Lines lines;
};

/// All sections of one name, as Apptainer joins them.
struct Joined {
    std::vector<Part> parts;
    std::string text;
    std::string arguments; ///< of the last one

    [[nodiscard]] bool is_blank() const;
    [[nodiscard]] yaml::Mark mark() const;
};

/// A stage of the file while it is carried.
struct State {
    const ImportRequest& request;
    Ledger& ledger;
    DraftStage& stage;
    /// Folders of an image hold files before the packages are installed.
    bool has_system_files = false;
    /// Steps that write what no field says.
    std::vector<DraftStep> before;
    /// The same, of what %post does not see.
    std::vector<DraftStep> after{};
    /// Those that %setup makes: what is copied to their names goes into them.
    std::set<std::string> made_folders{};
};

/// The variables of a script that only assigns: nothing where it does more, or where a field
/// cannot say it.
[[nodiscard]] std::optional<std::map<std::string, EnvironmentValue>>
read_assignments(std::string_view script);

/// The words of a script that starts one program with the container's arguments.
[[nodiscard]] std::optional<std::vector<std::string>> program_of(std::string_view script);

/// The program in the first line, as `#!/bin/bash`; empty: /bin/sh.
[[nodiscard]] std::string interpreter_of(std::string_view script);

/// The lines without the blanks that all begin with, where that changes no word of the script.
[[nodiscard]] std::string without_indent(std::string text);

/// The text without blank lines at its end, which a block of yaml cannot have.
[[nodiscard]] std::string without_last_blanks(std::string text);

/// Lines that write an executable file.
[[nodiscard]] std::string executable_lines(const std::string& path, const std::string& script);

/// Shell lines that put a script behind the environment that the base brings.
[[nodiscard]] std::string environment_lines(const std::string& script);

/// Why a Recipe cannot have what the draft says besides its base; nothing where it can.
[[nodiscard]] std::optional<Fault> fault_of(const Draft& piece);

void carry(Ledger& ledger, const Joined& joined);
/// Names all lines of the sections, for one reason.
void lose(Ledger& ledger, const Joined& joined, const Words& words);
/// The same for a line of a section; it counts from 0 in its text.
void lose_line(Ledger& ledger, const Part& part, std::size_t line, Words words);

/// `%files` and `%appfiles`; `names` are the stages by their names in the file.
[[nodiscard]] std::vector<FileCopy>
read_files(Ledger& ledger, const Part& part, const std::map<std::string, std::string>& names);
/// Where files for /tmp and /var/tmp wait until the step of move_waiting() puts them there.
inline constexpr std::string_view kWaitingFiles = "/opt/cybelectl/import/files";
[[nodiscard]] DraftStep move_waiting();
/// `%setup`: what it copies becomes files, what it makes becomes a step.
void carry_setup(State& state, const Joined& setup);
/// Whether a copied file may change how packages are installed.
[[nodiscard]] bool is_system_path(std::string_view path);
[[nodiscard]] bool is_system_copy(const FileCopy& file);

/// `%post`: packages where that is the same, and one step. `environment` is set in steps, but not
/// in `%post`.
void carry_post(State& state,
                const Joined& post,
                const std::map<std::string, EnvironmentValue>& environment);

/// `%labels` of the image or of an app.
[[nodiscard]] std::map<std::string, std::string> read_labels(Ledger& ledger, const Joined& labels);

[[nodiscard]] Result<Draft> import_definition(const ImportRequest& request, Ledger& ledger);

} // namespace cybele::recipes::definition_file
