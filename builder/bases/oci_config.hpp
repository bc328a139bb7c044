// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The configuration of an OCI image (OCI image specification 1.1, config.md), as scripts that
/// Apptainer and our runtime start containers by.
namespace cybele::builder {

struct OciConfig {
    std::vector<std::pair<std::string, std::string>> environment; ///< in the image's order
    std::vector<std::string> entrypoint;
    std::vector<std::string> command;
    std::map<std::string, std::string> labels;
    std::vector<std::string> notes; ///< what a container of ours does not take from it
};

/// kInput for what is no such document.
[[nodiscard]] Result<OciConfig> read_oci_config(std::string_view json);

/// Sets each variable as it is written, whatever is in it. PATH is the image's; of the others the
/// value that a user brings wins, as in Apptainer.
[[nodiscard]] std::string environment_script(const OciConfig& config);
/// ENTRYPOINT, then the arguments or else CMD. The arguments are evaluated by a shell, as with
/// Apptainer, unless APPTAINER_NO_EVAL is set, which every start does but one by the name of
/// Apptainer without --no-eval.
[[nodiscard]] std::string run_script(const OciConfig& config);

/// Puts both and the labels into the tree.
[[nodiscard]] Result<void> write_oci_config(const std::filesystem::path& root,
                                            const OciConfig& config);

} // namespace cybele::builder
