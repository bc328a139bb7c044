// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "recipes/import/draft.hpp"

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::pipeline {

/// Puts packages of Python into a Recipe: those that Debian 12 has in a version that the
/// requirement allows as Debian's, which need no Lock, others as lines of pip. What was decided is
/// added to `assumed`.
class PythonPackages {
public:
    PythonPackages(recipes::Draft& draft, std::vector<std::string>& assumed)
        : draft_(draft), assumed_(assumed) {}

    /// A line as in requirements.txt; `origin` names its file. Of several lines for a package the
    /// first one counts.
    void add(const std::string& requirement, const std::string& origin);
    /// A module that the source imports and no list names.
    void add_import(const std::string& package, const std::string& origin);

    /// A package of R as conda calls it: r-base, r-ggplot2, bioconductor-deseq2.
    void add_r(const std::string& name, const std::string& conditions, const std::string& origin);

    [[nodiscard]] bool has(std::string_view package) const;

private:
    void take_debian(std::string_view package, const std::string& requirement);
    void take_pip(const std::string& requirement);

    recipes::Draft& draft_;
    std::vector<std::string>& assumed_;
    std::map<std::string, std::string, std::less<>> known_; ///< package → its line
};

/// The requirements of a pyproject.toml: `dependencies` of `[project]`.
[[nodiscard]] std::vector<std::string> pyproject_requirements(std::string_view text);

/// Whether a version fulfils conditions as `>=1.2,<2`. False where they are not understood.
[[nodiscard]] bool fulfils(std::string_view version, std::string_view conditions);

} // namespace cybele::pipeline
