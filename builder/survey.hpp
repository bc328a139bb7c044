// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder/copy.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// What %files would copy from the host, before anything is copied.
namespace cybele::builder {

/// A file by its name below the source, with a word on it.
struct NamedFile {
    std::string name;
    std::string what;
};

struct Survey {
    std::size_t files = 0;
    std::uint64_t bytes = 0;
    std::vector<NamedFile> left_out; ///< folders as one; with the reason
    std::vector<NamedFile> secrets;  ///< private keys, tokens, settings with secrets
};

[[nodiscard]] Survey survey(const Copy& copy);

} // namespace cybele::builder
