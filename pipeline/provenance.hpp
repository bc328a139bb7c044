// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder/request/request.hpp"
#include "images/signatures/sign.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace cybele::pipeline {

/// What a build was made from and by, for those who get its image.
struct BuildFacts {
    std::string image;      ///< name of its file
    std::string digest;     ///< SHA-256 of the image, hexadecimal
    std::string source;     ///< name of the Recipe or definition file
    std::string definition; ///< SHA-256 of the definition that was built, hexadecimal
    std::string recipe;     ///< SHA-256 of the Recipe, hexadecimal; empty: there was none
    std::string builder;    ///< embedded, apptainer, singularity
    std::map<std::string, std::string> arguments;
    std::vector<builder::UsedBase> bases;
    std::int64_t started = 0; ///< Unix seconds
    std::int64_t finished = 0;
};

/// An in-toto statement v1 with a SLSA provenance v1 predicate (https://slsa.dev/provenance/v1).
[[nodiscard]] std::string provenance_statement(const BuildFacts& facts);

/// The statement in a DSSE envelope, signed by each key.
[[nodiscard]] Result<std::string> signed_provenance(const BuildFacts& facts,
                                                    const images::Signers& signers);

} // namespace cybele::pipeline
