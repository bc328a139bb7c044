// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/environment.hpp"
#include "support/error.hpp"
#include "support/file.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

/// Where things of a store lie:
///
///     format              "1": a store of a later version is refused
///     lock                flock(2): shared while a lease is made, exclusive while gc sweeps
///     index.sqlite        what `image list` reads; made again from the sidecars where it is lost
///     blobs/sha256/AB/REST       an image (0444), AB being the first two digits of its digest
///     blobs/sha256/AB/REST.json  its sidecar: all that the index knows of it; its time is last use
///     leases/             an empty file for each running image
///     layers/AB/REST      layers of OCI images that others are built from; their time is last use
///     tmp/                what is on its way in
///
/// A store that a group shares is a folder with mode 2775: all that is made in it can then be
/// written by the group, too.
namespace cybele::registry {

/// Where a store of images is.
struct StoreFolder {
    StoreFolder() = default;
    StoreFolder(std::filesystem::path folder, // NOLINT(google-explicit-constructor)
                bool allowed = false)
        : path(std::move(folder)), is_allowed(allowed) {}

    std::filesystem::path path;
    bool is_allowed = false; ///< the user has allowed it, so that another one may own it
};

class Place {
public:
    explicit Place(std::filesystem::path root) : root_(std::move(root)) {}

    [[nodiscard]] const std::filesystem::path& root() const {
        return root_;
    }
    [[nodiscard]] std::filesystem::path format_file() const {
        return root_ / "format";
    }
    [[nodiscard]] std::filesystem::path lock_file() const {
        return root_ / "lock";
    }
    [[nodiscard]] std::filesystem::path index_file() const {
        return root_ / "index.sqlite";
    }
    [[nodiscard]] std::filesystem::path blobs() const {
        return root_ / "blobs" / "sha256";
    }
    [[nodiscard]] std::filesystem::path leases() const {
        return root_ / "leases";
    }
    [[nodiscard]] std::filesystem::path temporary() const {
        return root_ / "tmp";
    }
    /// `digest` is `sha256:` and 64 digits.
    [[nodiscard]] std::filesystem::path blob(std::string_view digest) const;
    [[nodiscard]] std::filesystem::path sidecar(std::string_view digest) const;
    /// Makes a folder below the root (whose parents are there) with the root's own mode.
    [[nodiscard]] Result<void> make_folder(const std::filesystem::path& folder) const;
    /// Writes a file, which readers see complete or not, with the mode that all who share the store
    /// need. `modified`: its modification time, Unix seconds; unset: now.
    [[nodiscard]] Result<void> write_shared(const std::filesystem::path& path,
                                            std::string_view bytes,
                                            std::optional<std::int64_t> modified = {}) const;
    /// Of files that everybody who may use the store changes: 0600, 0660 in a group's store; never
    /// writable by all.
    [[nodiscard]] unsigned file_mode() const;

private:
    std::filesystem::path root_;
};

/// $CYBELE_STORE, else $XDG_DATA_HOME/cybelectl/store, else ~/.local/share/cybelectl/store.
[[nodiscard]] std::filesystem::path store_directory(const Environment& environment);

enum class LockKind { kShared, kExclusive };

/// Waits for the lock of a file, which is made where it is missing and can be. Held until the
/// descriptor is closed.
[[nodiscard]] Result<UniqueFd>
lock_file(const std::filesystem::path& path, LockKind kind, unsigned mode);
/// The same without waiting: an invalid descriptor where another process holds it.
[[nodiscard]] Result<UniqueFd> try_lock(const std::filesystem::path& path);

} // namespace cybele::registry
