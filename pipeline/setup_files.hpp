// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::pipeline {

/// The texts of `install_requires=[…]` in a setup.py; nothing where it is more than a list of
/// texts, which only Python can evaluate.
[[nodiscard]] std::optional<std::vector<std::string>> setup_py_requirements(std::string_view text);

/// The lines of `install_requires` below `[options]` of a setup.cfg; nothing where it names a file.
[[nodiscard]] std::optional<std::vector<std::string>> setup_cfg_requirements(std::string_view text);

} // namespace cybele::pipeline
