// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "registry/oci/oci_image.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

struct archive;

namespace cybele::builder {

/// One layer of an OCI image as a tar that is read once: what packs it is told by its first bytes,
/// for media types lie; what comes out is hashed, and limited.
class LayerReader {
public:
    [[nodiscard]] static Result<LayerReader> open(const registry::OciLayer& layer);
    LayerReader(LayerReader&&) noexcept;
    LayerReader& operator=(LayerReader&&) = delete;
    LayerReader(const LayerReader&) = delete;
    LayerReader& operator=(const LayerReader&) = delete;
    ~LayerReader();

    /// libarchive's reader of the entries.
    [[nodiscard]] archive* tar() const;
    /// Why it gave no entry or no bytes.
    [[nodiscard]] Error failure() const;
    /// What all files of the layer may have together; a layer that says more is a bomb.
    [[nodiscard]] std::uint64_t limit() const;
    [[nodiscard]] Error too_much() const;
    /// Reads to the end. kVerification: the digests are others than those of the layer.
    [[nodiscard]] Result<void> finish();

private:
    struct State;
    explicit LayerReader(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

} // namespace cybele::builder
