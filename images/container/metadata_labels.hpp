// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/container/metadata.hpp"
#include "images/inspection/labels.hpp"
#include "support/error.hpp"

#include <map>
#include <string>
#include <string_view>

namespace cybele::images {

/// Lines `key value` of /.build.labels, which %post may have written: the key ends at the first
/// blank, the value is taken as it is. Empty lines and lines that begin with `#` are skipped.
[[nodiscard]] Labels parse_build_labels(std::string_view text);

/// Where labels come from besides the definition file.
struct LabelSources {
    Labels inherited;         ///< labels.json of the base image
    Labels of_post;           ///< /.build.labels
    std::string architecture; ///< in the format's words: amd64
};

/// The labels of an image by Apptainer's precedence: inherited, then those of %post, then the
/// automatic ones, each over the ones before; %labels only where there is none yet (else
/// metadata.on_warning is told), but those named `cybelectl.…`, the facts that a launch believes,
/// are always the new build's.
[[nodiscard]] Labels merge_labels(const LabelSources& sources, const Metadata& metadata);

/// `Saturday_21_November_2026_9:23:10_UTC`
[[nodiscard]] std::string build_date(std::int64_t unix_seconds);

} // namespace cybele::images
