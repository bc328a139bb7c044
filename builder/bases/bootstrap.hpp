// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder/request/request.hpp"
#include "registry/cache/cache.hpp"

#include <filesystem>
#include <string>
#include <string_view>

/// The agent `debootstrap`, by mmdebstrap: a Debian root file system as a tar, kept in the cache.
namespace cybele::builder {

/// What a bootstrap depends on, and so the key of its result.
struct DebianBase {
    std::string suite;
    std::string mirror;
    std::string include;      ///< names with commas between
    std::string architecture; ///< the machine's
    std::int64_t epoch = 0;   ///< no file is younger
    bool is_deterministic = false;

    /// Without the epoch, unless it was asked for: a base is not made anew each second.
    [[nodiscard]] std::string key() const;
};

/// Reads OSVersion, MirrorURL and Include of a stage. The mirror: the request's, else MirrorURL,
/// else the machine's own. kInput where OSVersion is missing.
[[nodiscard]] Result<DebianBase> debian_base(const definitions::Stage& stage,
                                             const BuildRequest& request);

/// The base's tar: from the cache, else by mmdebstrap, with a package store of its own so that no
/// package is downloaded twice. A failure is kExecution with the last lines of its output.
[[nodiscard]] Result<std::filesystem::path> make_debian_base(const DebianBase& base,
                                                             const BuildRequest& request,
                                                             const Environment& environment,
                                                             const registry::Cache& cache);

/// An address with `%{OSVERSION}`, in any case, replaced: as Apptainer's agents do.
[[nodiscard]] std::string with_version(std::string address, std::string_view version);

} // namespace cybele::builder
