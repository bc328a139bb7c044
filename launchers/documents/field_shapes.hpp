// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launchers/documents/expansion.hpp"
#include "launchers/documents/job_fields_rules.hpp"
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

// setup
inline constexpr std::string_view kSetupNodes[] = {"first-node", "each-node"};
inline constexpr document::Shape kSetupNode{.type = document::Type::kWord, .words = kSetupNodes};
inline constexpr document::Field kSetupFields[] = {
    {"run", &kScript, "shell code; in a process of its own if it runs on each node", true},
    {"on", &kSetupNode, "where it runs", false, "first-node"},
};
inline constexpr document::Table kSetupTable{.title = "setup", .fields = kSetupFields};
inline constexpr document::Shape kSetupItem{.type = document::Type::kMap, .table = &kSetupTable};
inline constexpr document::Shape kSetup{
    .type = document::Type::kList, .item = &kSetupItem, .scalar = &kScript};

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

// texts with variables of the node
inline constexpr document::Shape kExpansion{.type = document::Type::kText, .rule = &kExpansionRule};
inline constexpr document::Shape kExpandedBind{.type = document::Type::kText,
                                               .rule = &kExpandedBindRule};
inline constexpr document::Field kExpandFields[] = {
    {"expand", &kExpansion, "a text with variables, as `$SCRATCH/data`", true},
};
inline constexpr document::Table kExpandTable{.title = "expand", .fields = kExpandFields};
inline constexpr document::Field kExpandBindFields[] = {
    {"expand", &kExpandedBind, "a bind with variables, as `$SCRATCH:/data`", true},
};
inline constexpr document::Table kExpandBindTable{.title = "expand", .fields = kExpandBindFields};
inline constexpr document::Shape kNodePath{
    .type = document::Type::kMap, .table = &kExpandTable, .scalar = &kPath};
inline constexpr document::Shape kNodePaths{.type = document::Type::kList, .item = &kNodePath};
inline constexpr document::Shape kBindText{.type = document::Type::kText, .rule = &kBindRule};
inline constexpr document::Shape kBind{
    .type = document::Type::kMap, .table = &kExpandBindTable, .scalar = &kBindText};
inline constexpr document::Shape kBindList{.type = document::Type::kList, .item = &kBind};
inline constexpr document::Shape kPlainVariable{.type = document::Type::kValue,
                                                .rule = &kEnvironmentRule};
inline constexpr document::Shape kEnvironmentValue{
    .type = document::Type::kMap, .table = &kExpandTable, .scalar = &kPlainVariable};
inline constexpr document::Table kEnvironmentTable{
    .title = "environment", .rest = &kEnvironmentValue, .rest_key = &kVariableRule};
inline constexpr document::Shape kEnvironment{.type = document::Type::kMap,
                                              .table = &kEnvironmentTable};

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
