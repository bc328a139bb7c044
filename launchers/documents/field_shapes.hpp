// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/document.hpp"

#include <string_view>

/// Shapes of fields that Jobs and Sites have alike.
namespace cybele::launchers {

inline constexpr document::Shape kText{.type = document::Type::kText};
inline constexpr document::Shape kTexts{.type = document::Type::kList, .item = &kText};
inline constexpr document::Shape kName{.type = document::Type::kName};
inline constexpr document::Shape kCount{.type = document::Type::kCount};
inline constexpr document::Shape kDuration{.type = document::Type::kDuration};
inline constexpr document::Shape kSize{.type = document::Type::kSize};
inline constexpr document::Shape kPath{.type = document::Type::kPath};
inline constexpr document::Shape kPaths{.type = document::Type::kList, .item = &kPath};
inline constexpr document::Shape kImageReference{.type = document::Type::kImage};
inline constexpr document::Shape kScript{.type = document::Type::kScript};

// directives
inline constexpr document::Field kDirectiveFields[] = {
    {"slurm", &kTexts, "options of sbatch, as `--switches=1`"},
    {"torque", &kTexts, "options of TORQUE's qsub, as `-W group_list=crops`"},
    {"pbspro", &kTexts, "options of PBS Pro's qsub, as `-l place=pack`"},
};
inline constexpr document::Table kDirectiveTable{.title = "directives", .fields = kDirectiveFields};
inline constexpr document::Shape kDirectives{.type = document::Type::kMap,
                                             .table = &kDirectiveTable};

// teardown
inline constexpr std::string_view kTeardownWords[] = {"always", "failure", "success"};
inline constexpr document::Shape kTeardownWhen{.type = document::Type::kWord,
                                               .words = kTeardownWords};
inline constexpr document::Field kTeardownFields[] = {
    {"run", &kScript, "shell code; `$CYBELE_CODE` is the exit code of the job", true},
    {"when", &kTeardownWhen, "how the program must have ended", false, "always"},
};
inline constexpr document::Table kTeardownTable{.title = "teardown", .fields = kTeardownFields};
inline constexpr document::Shape kTeardownItem{.type = document::Type::kMap,
                                               .table = &kTeardownTable};
inline constexpr document::Shape kTeardown{.type = document::Type::kList, .item = &kTeardownItem};

// verify
inline constexpr std::string_view kRequireWords[] = {"any", "all"};
inline constexpr document::Shape kRequire{.type = document::Type::kCount, .words = kRequireWords};
inline constexpr document::Field kVerifyFields[] = {
    {"keys", &kPaths, "public keys (PEM)", true},
    {"require", &kRequire, "how many of them must have signed", false, "any"},
};
inline constexpr document::Table kVerifyTable{.title = "verify", .fields = kVerifyFields};
inline constexpr document::Shape kVerify{
    .type = document::Type::kMap, .table = &kVerifyTable, .scalar = &kPath};

} // namespace cybele::launchers
