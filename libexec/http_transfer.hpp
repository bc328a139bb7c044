// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libexec/http_request.hpp"

/// One transfer by libcurl, without redirects.
namespace cybele::http {

/// One hop of an exchange.
struct Hop {
    std::string method;
    std::string url;
    Headers headers; ///< those that this hop sends, credentials among them
    bool has_body = false;
};

/// The answer to one hop. The body of a 200 or 206 goes to the request's output file, if it has
/// one; that of any other goes into the answer, so that what a server says of a fault can be told.
[[nodiscard]] Answer transfer(const Request& request, const Hop& hop);

/// Reads one header line as libcurl gives it. A status line begins the headers again (an interim
/// answer, a proxy's answer).
void take_header_line(std::string_view line, int& status, Headers& headers);

/// The kind of Failure for a code of libcurl and its words.
[[nodiscard]] std::string failure_kind(int code, std::string_view words);

/// Statuses whose Location names where to ask instead.
[[nodiscard]] bool is_redirect(int status);

/// Value of a header (name in lower case); empty: none.
[[nodiscard]] std::string value_of(const Headers& headers, std::string_view name);

} // namespace cybele::http
