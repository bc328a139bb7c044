// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "recipes/import/dockerfile_words.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace cybele::recipes::dockerfile {

/// What a step's commands are judged against.
struct InstallContext {
    std::string manager; ///< of the base: apt, dnf, zypper, apk; empty: not known
    bool lifts_all = false;
    bool may_recommend = false; ///< installations with recommended packages may be lifted, too
    Lookup lookup;
};

/// The installations at the start of a RUN, as packages of the Recipe.
struct PackageInstalls {
    bool is_lifted = false;
    std::vector<std::string> system;
    std::vector<std::string> pip;
    std::string rest;        ///< commands that stay; empty: none
    std::string why_not;     ///< why an installation stays a step; empty: there is none
    std::string differs;     ///< with lifts_all: what is not quite the same
    bool recommends = false; ///< with may_recommend: recommended packages are installed
    bool is_idle = false;    ///< nothing is installed, and nothing else is done
};

/// Lifts what `packages` does exactly as the commands would: the base's own manager, without
/// recommended packages, in front of the other commands, with nothing that runs if they fail.
[[nodiscard]] PackageInstalls split_installs(std::string_view text, const InstallContext& context);

/// What `set -eu` would change in a text that was written without it: "e", "u", "eu" or "".
[[nodiscard]] std::string loose_flags(std::string_view text, const Lookup& lookup);
/// Whether commands are joined by a pipe.
[[nodiscard]] bool has_pipe(std::string_view text);

} // namespace cybele::recipes::dockerfile
