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
    std::string_view use{};   ///< the command that one begins with, where it is another: "submit"
};

/// By how the text begins; nothing where that does not say it. Documents of ours are "a Job", ….
[[nodiscard]] std::optional<OtherFile> recognize_file(std::string_view text);

/// The same; where the text does not say it, the file's name does: `x.py`.
[[nodiscard]] std::optional<OtherFile> recognize_file(std::string_view text, std::string_view file);

/// "build it first: `cybelectl build x.yaml`": what such a file is for, where an image is expected.
[[nodiscard]] std::string use_of_other_file(const OtherFile& other, std::string_view file);

/// "give another file; this one is read by `cybelectl recipe import Dockerfile`".
[[nodiscard]] std::string help_for_other_file(const OtherFile& other, std::string_view file);

} // namespace cybele
