// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/document.hpp"
#include "support/error.hpp"
#include "support/yaml.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cybele::images {

struct PolicyCertificates {
    std::vector<std::string> roots; ///< paths of certificates
    std::vector<std::string> intermediates;
    std::string revocation = "none"; ///< none, soft, hard
};

/// Whose signatures an image must carry: the document of kind Policy, read and checked. Paths are
/// relative to `folder`.
struct Policy {
    std::string require = "any";   ///< any, all, or a decimal count
    std::vector<std::string> keys; ///< paths of public keys (PEM)
    std::optional<PolicyCertificates> certificates;
    std::vector<std::string> pgp; ///< fingerprints, 40 hexadecimal digits

    /// How many signers of `signers` must have signed.
    [[nodiscard]] std::size_t wanted(std::size_t signers) const;

    std::filesystem::path folder;
    yaml::Source source{"", ""};
    std::map<std::string, yaml::Mark> marks;
};

/// The table of the document of kind Policy.
[[nodiscard]] const document::Kind& policy_kind();

/// Reads a document of kind Policy. All faults at once, each with its place (kInput).
[[nodiscard]] Result<Policy> read_policy(std::string text, const std::filesystem::path& file);

} // namespace cybele::images
