// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::builder {

/// What a folder's .dockerignore leaves out, by Docker's rules: `#` comments; blanks around a
/// pattern, `.` and `..` in it and slashes at its ends are dropped; `*` and `?` match within one
/// component, `**` any number of them, `[…]` one character; `!` takes back what an earlier line
/// left out; the last line that matches a path, or a folder above it, decides.
class IgnoreFile {
public:
    IgnoreFile() = default;

    /// kInput with the place of a pattern that is none (`!` alone, a `[` that is not closed).
    [[nodiscard]] static Result<IgnoreFile> parse(std::string_view text,
                                                  const std::filesystem::path& file);

    /// `.containerignore` of the folder, else `.dockerignore`, as Podman; else nothing is left out.
    [[nodiscard]] static Result<IgnoreFile> read(const std::filesystem::path& folder);

    /// The line that leaves out `path`, which is relative to the folder (`a/b`), else nothing.
    [[nodiscard]] std::optional<std::size_t> line_for(std::string_view path) const;

    /// Whether something below a folder that is left out may be taken all the same.
    [[nodiscard]] bool has_exceptions() const;

    /// ".dockerignore:3"
    [[nodiscard]] std::string name_of_line(std::size_t line) const;

private:
    struct Pattern {
        std::string text;
        bool is_exception = false;
        std::size_t line = 0;
    };
    std::vector<Pattern> patterns_;
    std::filesystem::path file_;
};

/// Whether a pattern of such a file matches the complete path.
[[nodiscard]] bool matches_ignore_pattern(std::string_view pattern, std::string_view path);

} // namespace cybele::builder
