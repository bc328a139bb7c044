// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace cybele::images {

/// The version of Apptainer that is followed by its name.
inline constexpr std::string_view kApptainerVersion = "1.4.5";

/// The metadata sections of a definition file that become files under /.singularity.d.
struct Metadata {
    std::string definition; ///< raw text
    std::string environment;
    std::string runscript;
    std::string runscript_arguments; ///< of the section line, appended to the shebang
    std::string startscript;
    std::string startscript_arguments;
    std::string test;
    std::string test_arguments;
    bool has_test = false;
    std::string help;
    std::map<std::string, std::string> labels; ///< %labels, not overriding automatic ones
    bool replaces_labels = false;              ///< but those of the base
    bool names_apptainer = false;              ///< the labels name Apptainer as the builder
    /// Header key → value, for org.label-schema.usage.singularity.deffile.*; the key with or
    /// without that prefix.
    std::map<std::string, std::string> header_labels;
    std::int64_t build_time = 0;                        ///< Unix seconds
    std::function<void(const std::string&)> on_warning; ///< told what is not taken over, and why
};

/// Which files below /etc are made: those of Apptainer, or all that a runtime looks for.
enum class EtcFiles { kOfApptainer, kAll };

/// Makes the mount points, /etc files and links that a runtime expects, before %post runs.
[[nodiscard]] Result<void> write_base_layout(const std::filesystem::path& root,
                                             EtcFiles files = EtcFiles::kAll);

/// Writes /.singularity.d whole: actions, env, runscript, startscript, test, labels.json,
/// Singularity (facts: images notes 3.2), merging the labels of a base image already there and
/// those that %post left in /.build.labels. Every path is resolved inside `root`.
[[nodiscard]] Result<void> write_metadata(const std::filesystem::path& root,
                                          const Metadata& metadata);

} // namespace cybele::images
