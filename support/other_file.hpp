// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cybele {

/// What a file is that was given where another kind is read.
struct OtherFile {
    std::string_view what;    ///< "a Dockerfile"
    std::string_view command; ///< the command that reads it: "recipe import"; empty: none does
};

/// By how the text begins; nothing where that does not say it. Documents of ours are "a Job", ….
[[nodiscard]] std::optional<OtherFile> recognize_file(std::string_view text);

/// "give another file; this one is read by `cybelectl recipe import Dockerfile`".
[[nodiscard]] std::string help_for_other_file(const OtherFile& other, std::string_view file);

} // namespace cybele
