// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "registry/store/place.hpp"
#include "support/error.hpp"
#include "support/file.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

/// Layers and configurations of OCI images: parts that images are built from, kept in the store
/// beside its images and shared by all that begin with the same ones.
namespace cybele::registry {

/// A file that gc leaves alone while this lives.
struct HeldLayer {
    std::filesystem::path path;
    UniqueFd lock;
    bool was_there = false;
    bool is_own = false; ///< of the store; else it lies where its image does
};

struct LayerFile {
    std::filesystem::path path;
    std::uint64_t size = 0;
    std::int64_t used = 0; ///< Unix seconds
};

class Layers {
public:
    explicit Layers(Place place) : place_(std::move(place)) {}

    /// Writes the bytes into a file, which may have the beginning already.
    using Fill = std::function<Result<void>(const std::filesystem::path& file)>;
    /// The layer of that digest and size, made by `fill` where it is missing: of several processes
    /// that want one, one makes it. Whoever reads it checks its digest, and calls forget() where it
    /// is another.
    [[nodiscard]] Result<HeldLayer>
    get(std::string_view digest, std::uint64_t size, std::int64_t now, const Fill& fill) const;
    void forget(std::string_view digest) const;

    [[nodiscard]] std::vector<LayerFile> list() const;
    /// False: somebody builds from it.
    [[nodiscard]] static bool remove(const LayerFile& layer);

private:
    [[nodiscard]] std::filesystem::path path_of(std::string_view digest) const;
    [[nodiscard]] HeldLayer hold(std::string_view digest, std::uint64_t size) const;
    Place place_;
};

} // namespace cybele::registry
