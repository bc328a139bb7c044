// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/common/session.hpp"
#include "support/error.hpp"
#include "support/file.hpp"

#include <optional>
#include <string>

/// By the name of Apptainer: where the cache and the store are.
namespace cybele::cli {

/// Images of URIs, and what builds reuse, go into the folder of APPTAINER_CACHEDIR. Like there, a
/// folder that cannot be written is not used. Nothing is changed by our own name.
void use_apptainer_cache(Session& session);

/// The folder that APPTAINER_CACHEDIR or SINGULARITY_CACHEDIR names; empty: neither.
[[nodiscard]] std::string apptainer_cache_setting(const Session& session);

/// For a build by the name of Apptainer without a cache, or whose cache or store cannot be written:
/// like there, it has one of its own, which goes with the result. Nothing where the usual cache
/// serves.
[[nodiscard]] Result<std::optional<TempDirectory>> use_temporary_cache(Session& session,
                                                                       bool is_without);

} // namespace cybele::cli
