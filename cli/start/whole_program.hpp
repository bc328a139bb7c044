// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cybele::cli {

/// Goes on as the whole program, which lies in this one's file, as if the kernel had started it
/// with the same words, variables and descriptors in this same process: it is mapped from the file
/// (nothing is copied, where /proc shows the file; else 20 MB are) and entered by the rules of the
/// System V ABI, "Process Initialization". To be called before any thread, and before anything was
/// written or taken that must be given back. Without memory for it a message is written and the
/// process ends with 5.
/// @param argv as main() got it: its words lie below the variables, where the kernel put them
[[noreturn]] void become_whole_program(char** argv);

} // namespace cybele::cli
