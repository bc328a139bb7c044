// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

/// What the shell of a step knew when it failed, for a shell that is opened in its place.
namespace cybele::builder {

/// Mount point of the files that the builder brings; removed from the tree after each script.
inline constexpr std::string_view kBroughtPath = "/.cybelectl-build";
/// Where a script's shell writes what it knows: a file that is mounted, so nothing can take its
/// place.
inline constexpr std::string_view kStatePath = "/.cybelectl-build/state";

/// The script with words in its first line that write the shell's variables and folder to
/// kStatePath where it fails; its lines keep their numbers. A script for another interpreter than a
/// shell stays as it is. A script that sets a trap of its own on EXIT records nothing.
[[nodiscard]] std::string recording_script(const std::string& arguments, std::string text);

/// A shell that is opened where a step failed.
struct ShellInside {
    std::string state;    ///< as recording_script() wrote it; empty: nothing is known
    std::string terminal; ///< its TERM; empty: the commands come from standard input
};

/// Which variables a shell sets itself; without them the state can be read by any other.
[[nodiscard]] std::string readable_state(std::string_view recorded);

/// The command of the shell, and what `file`, which it reads first, holds.
[[nodiscard]] std::vector<std::string> shell_command(const ShellInside& shell,
                                                     const std::string& file);
[[nodiscard]] std::string shell_file(const ShellInside& shell);

} // namespace cybele::builder
