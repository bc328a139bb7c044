// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/document.hpp"

namespace cybele::launchers {

// Forms of texts in Jobs and Sites; each gives the reason and the remedy.
[[nodiscard]] document::ValueFault check_array(std::string_view text);
[[nodiscard]] document::ValueFault check_bind(std::string_view text);
[[nodiscard]] document::ValueFault check_environment_value(std::string_view text);
[[nodiscard]] document::ValueFault check_variable(std::string_view text);
[[nodiscard]] document::ValueFault check_url(std::string_view text);
[[nodiscard]] document::ValueFault check_network(std::string_view text);
[[nodiscard]] document::ValueFault check_result(std::string_view text);
[[nodiscard]] document::ValueFault check_job_name(std::string_view text);
[[nodiscard]] document::ValueFault check_begin(std::string_view text);
[[nodiscard]] document::ValueFault check_host(std::string_view text);
[[nodiscard]] document::ValueFault check_license(std::string_view text);
[[nodiscard]] document::ValueFault check_gres(std::string_view text);
[[nodiscard]] document::ValueFault check_memory_word(std::string_view text);

inline constexpr document::Rule kArrayRule{
    "an array of indexes",
    "^[0-9]+(-[0-9]+(:[0-9]+)?)?(,[0-9]+(-[0-9]+(:[0-9]+)?)?)*(%[0-9]+)?$",
    check_array};
inline constexpr document::Rule kBindRule{
    "a bind SRC[:DST[:ro]]", "^[^:,]+(:/[^:,]*(:ro)?)?$", check_bind};
inline constexpr document::Rule kEnvironmentRule{"a text", "", check_environment_value};
inline constexpr document::Rule kVariableRule{
    "a variable's name", "^[A-Za-z_][A-Za-z0-9_]*$", check_variable};
inline constexpr document::Rule kUrlRule{"an address", "^(https?|file)://[^ \"'\\\\]+$", check_url};
inline constexpr document::Rule kNetworkRule{
    "a network as 10.0.0.0/24", "^[0-9a-fA-F.:]+/[0-9]{1,3}$", check_network};

inline constexpr document::Rule kJobNameForm{"a job's name", "^[^-/][^/]*$", check_job_name};
inline constexpr document::Rule kBeginRule{
    "a local time as 2026-11-26T22:00",
    "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2})?$",
    check_begin};
inline constexpr document::Rule kHostRule{
    "a node's name", "^[A-Za-z0-9][A-Za-z0-9._,\\[\\]-]*$", check_host};
inline constexpr document::Rule kLicenseRule{
    "a licence's name", "^[A-Za-z0-9][A-Za-z0-9_.@/-]*$", check_license};
inline constexpr document::Rule kGresRule{
    "a resource's name", "^(?!gpu(:|$))[A-Za-z0-9][A-Za-z0-9_.:/-]*$", check_gres};
inline constexpr document::Rule kMemoryRule{"`all`", "^all$", check_memory_word};
inline constexpr document::Rule kResultRule{
    "a pattern below `workdir`", "^(?!/)(?!(.*/)?\\.\\.?(/|$)).+$", check_result};

} // namespace cybele::launchers
