// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "definitions/grammar/definition.hpp"
#include "recipes/model/recipe.hpp"
#include "recipes/stage/base.hpp"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace cybele::recipes {

/// A `%post` whose body stands for itself.
[[nodiscard]] definitions::Section post_section(std::string text);

/// What the stage installs: a `%post` for the manager's transaction (with `more` packages), one for
/// each program from source, for pip, conda, spack. They come before any `%files`, so that their
/// results depend on the base and the packages alone and can be kept.
void add_packages(definitions::Stage& stage,
                  const StageContext& context,
                  const std::vector<std::string>& more);

/// Files, then steps, each its own `%post`.
void add_content(definitions::Stage& stage, const StageContext& context);

/// The sections of the apps.
void add_apps(definitions::Stage& stage, const Recipe& recipe);

/// A section, if there is a text for it.
void add_section(definitions::Stage& stage,
                 std::string name,
                 std::string arguments,
                 std::string text);

/// `exec` of the words with the caller's arguments, or the script, which sees the Recipe's `args`.
[[nodiscard]] std::string run_lines(const std::vector<std::string>& argv,
                                    const std::string& script,
                                    const std::map<std::string, std::string>& arguments);

/// A script that sees the Recipe's `args`; nothing for an empty one.
[[nodiscard]] std::string script_text(const std::string& script,
                                      const std::map<std::string, std::string>& arguments);

/// `name value` lines.
[[nodiscard]] std::string label_lines(const std::map<std::string, std::string>& labels);

} // namespace cybele::recipes
