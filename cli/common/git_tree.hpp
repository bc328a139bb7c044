// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/environment.hpp"
#include "support/error.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace cybele::cli {

/// The line of the work tree's .gitignore that keeps a file out of git (`/keys/centre.pem`), and
/// that file (no line: one with `!` includes the file). Nothing where the file is in no work tree,
/// or where a line of a .gitignore, of .git/info/exclude or of the user's own file keeps it out
/// already. git is not called: its configuration in a work tree may name programs.
struct GitLine {
    std::filesystem::path ignore_file;
    std::string line;
};
[[nodiscard]] std::optional<GitLine> line_against_git(const Environment& environment,
                                                      const std::filesystem::path& file);

/// The warning about a private key that the next `git add` adds; unset: there is none.
[[nodiscard]] std::optional<Fault> warn_of_git(const Environment& environment,
                                               const std::filesystem::path& private_key);

} // namespace cybele::cli
