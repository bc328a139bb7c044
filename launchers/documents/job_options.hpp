// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launchers/documents/job.hpp"
#include "support/document_view.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cybele::launchers {

/// Fields of `resources` that are options of some batch systems.
void read_resource_options(const document::View& view, Resources& resources);

/// `gpus-per-node`, `gpus-per-task` or `gres`.
[[nodiscard]] GpuForm gpu_form_of(std::string_view word);

/// The same of the Job itself: reservation, begin, comment …
void read_job_options(const document::View& root, Job& job);

/// An error where the count at this path is written, and 0.
void check_count(document::Reading& reading,
                 const std::string& path,
                 std::optional<std::uint32_t> count);

/// Counts of 0, and forms that need a batch launch.
void check_options(document::Reading& reading, const Job& job);

} // namespace cybele::launchers
