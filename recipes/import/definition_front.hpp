// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "recipes/import/definition.hpp"
#include "recipes/import/dockerfile_words.hpp"

#include <string>
#include <string_view>
#include <vector>

/// Commands in front of the installations of a %post that have the same effect before and after
/// them, so that the packages may be installed first.
namespace cybele::recipes::definition_file {

/// A command and its words; `at` is its program, after the assignments.
struct FrontCommand {
    std::string text;
    std::vector<dockerfile::Word> words;
    std::size_t at = 0;

    [[nodiscard]] std::string_view program() const {
        return at < words.size() ? std::string_view(words[at].text) : std::string_view();
    }
};

/// `PATH=/opt/x/bin:$PATH`, where a plain base has no such folder: the search path of the package
/// manager has the same programs. Also LD_LIBRARY_PATH.
[[nodiscard]] bool adds_absent_folders(const State& state, std::string_view assignment);

/// `. /environment` of a base without a %environment of its own.
[[nodiscard]] bool reads_base_environment(const State& state, const FrontCommand& command);

/// `echo … >> $APPTAINER_ENVIRONMENT`, and the file's older names.
[[nodiscard]] bool writes_environment(const FrontCommand& command);

/// The machine's time zone, set before the packages or after them: it stays as it was set last.
[[nodiscard]] bool sets_time_zone(const FrontCommand& command);

/// `chmod` of files that no package has.
[[nodiscard]] bool changes_own_modes(const FrontCommand& command);

/// `yum groupinstall`, which no list of packages can say.
[[nodiscard]] bool installs_group(const FrontCommand& command);

/// With `1` where the number of processors or the name of the machine is asked.
[[nodiscard]] std::string without_questions(std::string command);

} // namespace cybele::recipes::definition_file
