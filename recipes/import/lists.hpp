// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "recipes/forms/ledger.hpp"
#include "recipes/forms/requirements.hpp"
#include "recipes/import/draft.hpp"
#include "recipes/import/import.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::recipes {

/// Says once that lines without a checksum wait for `recipe lock`.
void remark_unlocked(Ledger& ledger, yaml::Mark mark, const Packages& packages);

/// Open MPI for mpi4py, with a remark that names it.
void add_mpi(Ledger& ledger, Draft& draft);

/// An address without the user, the password and conda's token (`/t/TOKEN`) that it may hold.
[[nodiscard]] std::string without_secrets(std::string_view address);
/// HOST[:PORT] of scheme://HOST[:PORT]/…; "" where the address has no scheme.
[[nodiscard]] std::string host_of(std::string_view address);

/// micromamba and Spack as entries of `source`, below the address of the argument `sources`.
void add_installer(Draft& draft,
                   DraftStage& stage,
                   std::string_view name,
                   const ImportRequest& request);
/// The version of the installer that add_installer() knows.
[[nodiscard]] std::string_view installer_version(std::string_view name);

/// The readers of each kind; faults and notes go to the ledger.
[[nodiscard]] Draft import_requirements(const ImportRequest& request, Ledger& ledger);
[[nodiscard]] Draft
import_conda(const ImportRequest& request, const yaml::Node& root, Ledger& ledger);
[[nodiscard]] Draft
import_conda_lock(const ImportRequest& request, const yaml::Node& root, Ledger& ledger);
[[nodiscard]] Draft
import_pixi_lock(const ImportRequest& request, const yaml::Node& root, Ledger& ledger);
[[nodiscard]] Draft
import_renv(const ImportRequest& request, const yaml::Node& root, Ledger& ledger);
/// uv.lock and poetry.lock.
[[nodiscard]] Result<Draft> import_python_lock(const ImportRequest& request, Ledger& ledger);
/// pyproject.toml with the lock next to it.
[[nodiscard]] Result<Draft> import_pyproject(const ImportRequest& request, Ledger& ledger);
/// Pipfile with the lock next to it, or alone; and the lock.
[[nodiscard]] Result<Draft> import_pipfile(const ImportRequest& request, Ledger& ledger);
[[nodiscard]] Draft
import_pipfile_lock(const ImportRequest& request, const yaml::Node& root, Ledger& ledger);
/// A list of addresses below `@EXPLICIT`.
[[nodiscard]] Draft import_explicit(const ImportRequest& request, Ledger& ledger);
[[nodiscard]] Draft
import_spack(const ImportRequest& request, const yaml::Node& root, Ledger& ledger);

/// Items of a list of texts; what is none is refused.
[[nodiscard]] std::vector<const yaml::Node*>
text_items(Ledger& ledger, const yaml::Node& node, std::string_view what);

/// `name: …` of a file as a name that Recipes take; a remark where it had to be changed.
void carry_name(Ledger& ledger, const yaml::Entry& entry, Draft& draft);

} // namespace cybele::recipes
