// SPDX-License-Identifier: Apache-2.0
#pragma once

// CLI11, without its ready-made validators: each file that includes it would make eight of them
// before main(), four hundred in all, and nearly every start uses none (a fifth of what the program
// itself takes). With these words they are declared as functions, which nobody calls or defines.
#define ExistingFile ExistingFile()
#define ExistingDirectory ExistingDirectory()
#define ExistingPath ExistingPath()
#define NonexistentPath NonexistentPath()
#define ValidIPV4 ValidIPV4()
#define Number(name) Number()
#define NonNegativeNumber(...) NonNegativeNumber()
#define PositiveNumber(...) PositiveNumber()

#include <CLI/CLI.hpp> // IWYU pragma: export

#undef ExistingFile
#undef ExistingDirectory
#undef ExistingPath
#undef NonexistentPath
#undef ValidIPV4
#undef Number
#undef NonNegativeNumber
#undef PositiveNumber
