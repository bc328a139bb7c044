// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/sif/sif.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace cybele::cli {

/// What a descriptor says of an object of one type only.
struct TypeWords {
    std::string part_type;
    std::string part_fs;
    std::string part_arch;
    std::string sign_hash;
    std::string sign_entity;
    std::string sbom_format;
};

/// The options of `sif add`, spelt as Apptainer's. Numbers may be given by name, too.
struct AddOptions {
    std::string image;
    std::string file; ///< "-": standard input
    std::string data_type;
    TypeWords of_type;
    std::uint32_t group = 0;
    std::optional<std::uint32_t> link;
    std::optional<std::uint32_t> link_group;
    std::optional<std::uint64_t> alignment;
    std::string name;
};

void declare_add_options(CLI::App& verb, AddOptions& options);

/// The object that they describe, whose bytes are read from the file when it is written. kUsage for
/// what is missing or unknown, kInput for a file that cannot be read.
[[nodiscard]] Result<images::NewObject> new_object(const AddOptions& options);

} // namespace cybele::cli
