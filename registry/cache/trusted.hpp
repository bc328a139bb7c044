// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/sif/image.hpp"
#include "images/signatures/trust.hpp"
#include "support/environment.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <filesystem>
#include <string>

/// Images that are believed only when somebody signed them.
namespace cybele::registry {

/// A public PEM key or a Policy, told apart by how the file begins.
[[nodiscard]] Result<images::Trust> trust_from(const std::filesystem::path& key_or_policy,
                                               const Environment& environment,
                                               std::int64_t now);

/// The signatures of the SIF; kVerification with the reason, unless those who are trusted signed
/// all of it. `name` is for people; `help` says what is to be done.
[[nodiscard]] Result<images::Verification> verify_sif(const images::Image& image,
                                                      const images::Trust& trust,
                                                      const std::string& name,
                                                      const std::string& help);
[[nodiscard]] Result<images::Verification> verify_sif(const std::filesystem::path& file,
                                                      const images::Trust& trust,
                                                      const std::string& name,
                                                      const std::string& help);

} // namespace cybele::registry
