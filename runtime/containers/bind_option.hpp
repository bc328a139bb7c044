// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/environment.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::runtime {

/// The binds of the user that come by variables. As in Apptainer, SINGULARITY_X counts only
/// where APPTAINER_X is not set.
[[nodiscard]] std::vector<std::string> binds_of_variables(const Environment& environment);

/// One bind that a user asked for.
struct BindOption {
    std::filesystem::path source; ///< absolute
    std::filesystem::path target; ///< absolute, in the container
    bool is_read_only = false;
    std::string image_source;   ///< image-src=: `source` is an image, and this a place in it
    std::uint32_t image_id = 0; ///< id=: of the partition, where it is a SIF
};

/// Reads "SRC[:DST[:OPTION[,OPTION]]]", several with commas, as Apptainer's -B, with the options
/// ro, rw, image-src=PATH and id=N; a relative source counts from `directory`. A backslash takes
/// the meaning from a following colon or comma. kUsage for what cannot be read;
/// `follows_apptainer`: as Apptainer, which skips empty parts before the source.
[[nodiscard]] Result<std::vector<BindOption>> read_binds(std::string_view text,
                                                         const std::filesystem::path& directory,
                                                         bool follows_apptainer = false);

/// Reads "type=bind,source=SRC,destination=DST[,ro]", as Apptainer's --mount: fields of a CSV line,
/// which double quotes protect; src, dst, target and readonly mean the same. kUsage as above;
/// `follows_apptainer`: ro with any value is ro.
[[nodiscard]] Result<BindOption> read_mount(std::string_view text,
                                            const std::filesystem::path& directory,
                                            bool follows_apptainer = false);

} // namespace cybele::runtime
