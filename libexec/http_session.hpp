// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The lasting form, `cybelectl-http --session`: many exchanges over one process and over
/// connections that stay open. support/http_session.hpp is the client and documents the fields.
///
/// Each line of standard input is one JSON object:
///   {"session": {...}}      certificates and limits for the exchanges that follow; the first line
///   {"id": N, "url": ...}   starts an exchange
///   {"end": N}              ends it early; nothing more is written about it
/// Each line of standard output is one JSON object:
///   {"id": N, "start": 200, "headers": [...]}    the answer to a streamed exchange begins
///   {"id": N, "line": BASE64}                    one complete line of its body
///   {"id": N, "format": 1, "status": ...}        the end, with the body of any other exchange
///   {"id": N, "format": 1, "failure": {...}}     the end of an exchange without an answer
/// Writing blocks while the reader is slow, which slows the servers down; nothing is buffered
/// without limit. The program exits at the end of its input.
namespace cybele::http {

/// Runs until standard input ends; the exit status.
[[nodiscard]] int run_session();

} // namespace cybele::http
