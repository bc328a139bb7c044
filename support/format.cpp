// SPDX-License-Identifier: Apache-2.0
// fmt, compiled once for the whole project. Debian has it as a shared library or as headers alone;
// the headers alone cost every file that formats a string three seconds of compiling.
#include <locale>

#include <fmt/format-inl.h>

// What the headers declare and leave to the library.
namespace fmt::detail {

template dragonbox::decimal_fp<float> dragonbox::to_decimal(float) noexcept;
template dragonbox::decimal_fp<double> dragonbox::to_decimal(double) noexcept;
template locale_ref::locale_ref(const std::locale&);
template std::locale locale_ref::get<std::locale>() const;
template thousands_sep_result<char> thousands_sep_impl(locale_ref);
template char decimal_point_impl(locale_ref);
template void buffer<char>::append(const char*, const char*);
template void vformat_to(buffer<char>&,
                         basic_string_view<char>,
                         basic_format_args<buffer_context<char>>,
                         locale_ref);

} // namespace fmt::detail
