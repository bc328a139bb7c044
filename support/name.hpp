// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace cybele {

/// Whether it is `[a-z]([a-z0-9-]*[a-z0-9])?` of at most 50 characters: what Kubernetes, Slurm,
/// TORQUE 6 and OpenPBS all take (docs/reference/documents.md).
[[nodiscard]] bool is_name(std::string_view text);

/// The nearest valid name (`My Job_1` → `my-job-1`), or "" where nothing is left.
[[nodiscard]] std::string suggest_name(std::string_view text);

/// Whether a shell takes it as a variable's name.
[[nodiscard]] bool is_variable_name(std::string_view text);

/// Whether a variable of this name holds a password, a token or a key by the usual ends of names.
[[nodiscard]] bool is_secret_name(std::string_view text);
/// Whether it is a switch, as in ALLOW_EMPTY_PASSWORD=yes, and so no secret.
[[nodiscard]] bool is_switch(std::string_view value);

/// Whether it is an IPv4 or IPv6 address, without the name of an interface.
[[nodiscard]] bool is_ip_address(const std::string& text);

/// Whether it is `sha256:` and 64 lower-case hexadecimal digits.
[[nodiscard]] bool is_sha256_digest(std::string_view text);

/// Why the text names no image, or "" where it does: a path, `store:NAME[:TAG]`, `oras://`,
/// `docker://` or `library://`, each with `@sha256:…` behind it or not. `help` gets the remedy.
[[nodiscard]] std::string image_reference_fault(std::string_view text, std::string& help);

} // namespace cybele
