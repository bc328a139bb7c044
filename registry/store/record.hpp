// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "registry/store/place.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::registry {

/// All that a store knows of one image. The index has it for looking up, a sidecar beside the image
/// so that the index can be made again.
struct Record {
    std::string digest; ///< `sha256:` and 64 digits
    std::uint64_t size = 0;
    std::int64_t created = 0;              ///< when it came into the store, Unix seconds
    std::string architecture;              ///< "amd64"; empty: no image that tells it
    std::string origin;                    ///< where it came from, for people
    std::vector<std::string> names;        ///< NAME:TAG, sorted
    std::vector<std::string> repositories; ///< HOST/REPOSITORY where registries have it, sorted
};

/// A blob's identity and times: equal numbers, equal bytes.
struct BlobState {
    std::uint64_t size = 0;
    std::int64_t inode = 0;
    std::int64_t modified = 0; ///< nanoseconds since 1970
    std::int64_t changed = 0;

    bool operator==(const BlobState&) const = default;
};

/// kInput where there is no such file.
[[nodiscard]] Result<BlobState> blob_state(const std::filesystem::path& path);

/// `sha256:` and the digest in hexadecimal.
[[nodiscard]] Result<std::string> digest_of_file(const std::filesystem::path& path);

/// Writes a record's sidecar whole; its time becomes `used`.
[[nodiscard]] Result<void>
write_sidecar(const Place& place, const Record& record, std::int64_t used);
/// kInput for one that cannot be read.
[[nodiscard]] Result<Record> read_sidecar(const Place& place, std::string_view digest);
/// When the image was last used, Unix seconds; 0: unknown.
[[nodiscard]] std::int64_t last_used(const Place& place, std::string_view digest);
/// Says that it is used now; a store that cannot be written keeps the old time.
void mark_used(const Place& place, std::string_view digest, std::int64_t now);

/// The digests of all blobs that are there, whatever the index says, sorted.
[[nodiscard]] std::vector<std::string> blobs_on_disk(const Place& place);

} // namespace cybele::registry
