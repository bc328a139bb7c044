// SPDX-License-Identifier: Apache-2.0
#include "cli/common/apptainer_folders.hpp"

#include "cli/common/image_store.hpp"
#include "registry/cache/cache.hpp"

#include <filesystem>
#include <utility>

#include <unistd.h>

namespace cybele::cli {

namespace fs = std::filesystem;

std::string apptainer_cache_setting(const Session& session) {
    return session.environment.get_or("APPTAINER_CACHEDIR",
                                      session.environment.get_or("SINGULARITY_CACHEDIR", ""));
}

void use_apptainer_cache(Session& session) {
    if (!session.is_apptainer()) {
        return;
    }
    const std::string chosen = apptainer_cache_setting(session);
    std::error_code failed;
    const bool is_closed =
        fs::is_directory(chosen, failed) && ::access(chosen.c_str(), W_OK | X_OK) != 0;
    if (chosen.empty() || is_closed) {
        return;
    }
    const fs::path folder = fs::absolute(chosen, failed) / "cybelectl";
    session.environment.set("CYBELE_CACHE_DIR", (folder / "cache").native());
    session.environment.set("CYBELE_STORE", (folder / "store").native());
}

Result<std::optional<TempDirectory>> use_temporary_cache(Session& session, bool is_without) {
    if (!session.is_apptainer()) {
        return std::optional<TempDirectory>();
    }
    const fs::path usual = session.environment.cache_directory();
    const bool has_cache = !is_without && make_directories(usual, 0700) &&
                           ::access(usual.c_str(), W_OK | X_OK) == 0 &&
                           registry::Cache(usual).check();
    const bool has_store = !is_without && open_store(session).has_value();
    if (has_cache && has_store) {
        return std::optional<TempDirectory>();
    }
    CYBELE_TRY(
        TempDirectory made,
        TempDirectory::make(session.environment.temporary_directory(), "cybelectl-build-cache"));
    if (!has_cache) {
        session.environment.set("CYBELE_CACHE_DIR", (made.path() / "cache").native());
    }
    if (!has_store) {
        session.environment.set("CYBELE_STORE", (made.path() / "store").native());
    }
    return std::optional(std::move(made));
}

} // namespace cybele::cli
