// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The listening form, `cybelectl-http --serve`: https on one address, each request answered by a
/// program of the caller's. Listener of the area bridge is the client.
///
/// The first line of standard input is a JSON object:
///   address, port     where to listen; port 0: any that is free
///   names             host names and addresses in a certificate that is made here
///   certificate, key  PEM texts; empty: a self-signed certificate, whose key never leaves memory
///   clients           PEM text: who signs certificates of clients; empty: none is accepted
///   command           started for each request; it reads one JSON line (method, path, token,
///                     certificate: none, good or bad, user, groups), and writes a line
///                     `STATUS CONTENT-TYPE`, then the body until its end
/// One line of JSON answers on standard output: {"port": N, "certificate": PEM}, or {"failure":
/// TEXT}. The program exits at the end of its input, and its children with it.
namespace cybele::http {

/// Runs until standard input ends; the exit status.
[[nodiscard]] int run_server();

} // namespace cybele::http
