// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/common/session.hpp"
#include "definitions/grammar/definition.hpp"

#include <functional>
#include <string>
#include <vector>

namespace cybele::cli {

/// Values of a definition's `{{ NAME }}`, for every verb that reads one.
struct BuildArgumentOptions {
    std::vector<std::string> words;
    std::string file;
};

/// Adds --build-arg and --build-arg-file.
void add_build_arguments(CLI::App& verb, BuildArgumentOptions& options);

/// The file's values, then those of the command line; as Apptainer, without blanks around a
/// name or a value. kUsage: a word that does not have the form NAME=VALUE; such lines of the file
/// are skipped, as by Apptainer, and given to `on_skipped`.
[[nodiscard]] Result<definitions::BuildArguments>
read_build_arguments(const BuildArgumentOptions& options,
                     const std::function<void(const std::string&)>& on_skipped);

} // namespace cybele::cli
