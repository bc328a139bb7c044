// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace cybele::kubernetes {

/// RFC 1123, and at most 50 characters: bridges append to it, and 63 is the server's limit.
[[nodiscard]] bool is_object_name(std::string_view text);

/// `[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?` of at most 63 characters, or empty.
[[nodiscard]] bool is_label_value(std::string_view text);

/// A label value that is not empty, with a domain and `/` before it or not.
[[nodiscard]] bool is_label_key(std::string_view text);

/// RFC 1123's label, at most 63 characters: a namespace.
[[nodiscard]] bool is_label_name(std::string_view text);

/// Letters and digits, a letter first.
[[nodiscard]] bool is_kind_name(std::string_view text);

/// GROUP/VERSION or VERSION, in lower case.
[[nodiscard]] bool is_api_version(std::string_view text);

} // namespace cybele::kubernetes
