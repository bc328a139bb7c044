// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cybele {

/// Characters of ASCII, whatever the locale.
[[nodiscard]] constexpr bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
[[nodiscard]] constexpr bool is_lower(char c) {
    return c >= 'a' && c <= 'z';
}
[[nodiscard]] constexpr bool is_upper(char c) {
    return c >= 'A' && c <= 'Z';
}
[[nodiscard]] constexpr bool is_letter(char c) {
    return is_lower(c) || is_upper(c);
}
[[nodiscard]] constexpr bool is_lower_or_digit(char c) {
    return is_lower(c) || is_digit(c);
}
[[nodiscard]] constexpr bool is_alphanumeric(char c) {
    return is_letter(c) || is_digit(c);
}
[[nodiscard]] constexpr char to_lower(char c) {
    return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c;
}
[[nodiscard]] constexpr char to_upper(char c) {
    return is_lower(c) ? static_cast<char>(c - 'a' + 'A') : c;
}

/// Whether a variable's name can begin with it, and whether one can contain it.
[[nodiscard]] constexpr bool is_word_start(char c) {
    return is_letter(c) || c == '_';
}
[[nodiscard]] constexpr bool is_word_character(char c) {
    return is_alphanumeric(c) || c == '_';
}

} // namespace cybele
