// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "recipes/model/recipe.hpp"
#include "support/error.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace cybele::pipeline {

/// A Recipe whose `mpi.host` names a Site knows what that Site offers: the MPI of the Recipe's
/// family where it has one, else its first; srun where it is known to speak what that family wants.
///
/// As recipes::read_variant() and recipes::read_variants() for the rest. kInput where the Site
/// cannot be read or says nothing of an MPI, with the place in the Recipe.
[[nodiscard]] Result<recipes::Recipe>
read_variant(std::string text,
             const std::filesystem::path& file,
             const std::map<std::string, std::string>& arguments,
             const std::string& variant);

[[nodiscard]] Result<std::vector<recipes::Recipe>>
read_variants(std::string text,
              const std::filesystem::path& file,
              const std::map<std::string, std::string>& arguments);

} // namespace cybele::pipeline
