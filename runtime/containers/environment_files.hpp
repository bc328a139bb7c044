// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

/// The image's environment files, which every start reads.
namespace cybele::runtime {

/// Where they lie in an image.
constexpr const char* kEnvironmentFolder = "/.singularity.d/env";

struct EnvironmentFile {
    std::string name;
    std::string text;
};

/// The files of a folder (O_PATH) that a shell reads there: `*.sh`, by their bytes' order. Nothing
/// where there are suspiciously many, or where one is large or no plain file.
[[nodiscard]] std::optional<std::vector<EnvironmentFile>> read_environment_files(int folder);

} // namespace cybele::runtime
