// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/container/container.hpp"
#include "support/error.hpp"

#include <map>
#include <string>
#include <string_view>

namespace cybele::images {

using Labels = std::map<std::string, std::string>;

/// The text of labels.json as Go's encoder writes it: sorted, indented by tabs, `<`, `>` and `&`
/// escaped, no final newline.
[[nodiscard]] std::string print_labels(const Labels& labels);
/// Reads labels.json; a value that is no string is kept as its JSON text. kInput when it is no JSON
/// object.
[[nodiscard]] Result<Labels> parse_labels(std::string_view text);

/// Lines `key value` of /.build.labels, which %post may have written: the key ends at the first
/// blank, the value is taken as it is. Empty lines and lines that begin with `#` are skipped.
[[nodiscard]] Labels parse_build_labels(std::string_view text);

/// Where labels come from besides the definition file.
struct LabelSources {
    Labels inherited;         ///< labels.json of the base image
    Labels of_post;           ///< /.build.labels
    std::string architecture; ///< in the format's words: amd64
};

/// The labels of an image by the reference's precedence: inherited, then those of %post, then the
/// automatic ones, each over the ones before; %labels only where there is none yet (else
/// metadata.on_warning is told), but those named `cybelectl.…`, the facts that a launch believes,
/// are always the new build's.
[[nodiscard]] Labels merge_labels(const LabelSources& sources, const Metadata& metadata);

/// `Saturday_21_November_2026_9:23:10_UTC`
[[nodiscard]] std::string build_date(std::int64_t unix_seconds);

} // namespace cybele::images
