// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/squashfs/file_node.hpp"
#include "support/error.hpp"

#include <string>
#include <string_view>

namespace cybele::images {

/// Which of a file's printable texts (runs of at least four characters) is its version.
struct TextSearch {
    std::string_view marker; ///< must stand in a text; empty: none needed
    std::string_view
        before; ///< the version follows it; empty: a text that is a version and no more
};

/// The version that a program or library says of itself, without running it; "" when it does not.
/// Of texts that are versions, one that begins with `v` is preferred: the name of a release.
[[nodiscard]] Result<std::string> find_version(const FileNode& file, const TextSearch& search);

/// "4.1.4rc1" of "4.1.4rc1 (x)": digits with at least one dot, and letters behind them; "" for
/// anything else.
[[nodiscard]] std::string leading_version(std::string_view text);

} // namespace cybele::images
