// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/document.hpp"

namespace cybele::recipes {

// Forms of texts in Recipes and Locks; each gives the reason and the remedy.
[[nodiscard]] document::ValueFault check_distribution(std::string_view text);
[[nodiscard]] document::ValueFault check_package(std::string_view text);
[[nodiscard]] document::ValueFault check_variable(std::string_view text);
[[nodiscard]] document::ValueFault check_argument_name(std::string_view text);
[[nodiscard]] document::ValueFault check_label(std::string_view text);
[[nodiscard]] document::ValueFault check_app(std::string_view text);
[[nodiscard]] document::ValueFault check_mode(std::string_view text);
[[nodiscard]] document::ValueFault check_hex_digest(std::string_view text);
[[nodiscard]] document::ValueFault check_digest(std::string_view text);
[[nodiscard]] document::ValueFault check_commit(std::string_view text);
[[nodiscard]] document::ValueFault check_lock_line(std::string_view text);
[[nodiscard]] document::ValueFault check_repository_url(std::string_view text);
[[nodiscard]] document::ValueFault check_fingerprint(std::string_view text);
[[nodiscard]] document::ValueFault check_apt_word(std::string_view text);
/// Seconds since 1970, which outgrow a count.
[[nodiscard]] document::ValueFault check_epoch(std::string_view text);

inline constexpr document::Rule kDistributionRule{
    "a distribution as debian:12", "^[a-z][a-z-]*:[a-z0-9.]+$", check_distribution};
inline constexpr document::Rule kPackageRule{
    "a package NAME or NAME=VERSION",
    "^[A-Za-z0-9][A-Za-z0-9+._-]*(=[A-Za-z0-9][A-Za-z0-9.+:~-]*)?$",
    check_package};
inline constexpr document::Rule kVariableRule{
    "a variable's name", "^[A-Za-z_][A-Za-z0-9_]*$", check_variable};
inline constexpr document::Rule kArgumentRule{
    "an argument's name", "^[a-z]([a-z0-9-]*[a-z0-9])?$", check_argument_name};
inline constexpr document::Rule kLabelRule{
    "a label's name", "^[A-Za-z0-9][A-Za-z0-9._/-]*$", check_label};
inline constexpr document::Rule kAppRule{
    "an app's name", "^[A-Za-z0-9][A-Za-z0-9._-]*$", check_app};
inline constexpr document::Rule kModeRule{"a mode as \"0755\"", "^0?[0-7]{3}$", check_mode};
inline constexpr document::Rule kHexRule{"a SHA-256", "^[0-9a-f]{64}$", check_hex_digest};
inline constexpr document::Rule kDigestRule{
    "a digest sha256:…", "^sha256:[0-9a-f]{64}$", check_digest};
inline constexpr document::Rule kCommitRule{
    "a commit", "^[0-9a-f]{40}([0-9a-f]{24})?$", check_commit};
inline constexpr document::Rule kLockLineRule{
    "a locked package", "^[^ ]+ [^ ]+ [^ ]+ sha256:[0-9a-f]{64}$", check_lock_line};
inline constexpr document::Rule kRepositoryUrlRule{
    "an address", "^(https?|file)://?[^ @]+$", check_repository_url};
inline constexpr document::Rule kFingerprintRule{
    "a fingerprint", "^[0-9A-Fa-f ]{40,50}$", check_fingerprint};
inline constexpr document::Rule kAptWordRule{
    "a suite or component", "^[A-Za-z0-9./][A-Za-z0-9./_+~-]*$", check_apt_word};
inline constexpr document::Rule kEpochRule{
    "seconds since 1970", "^(0|[1-9][0-9]{0,11})$", check_epoch};

} // namespace cybele::recipes
