// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/common/session.hpp"
#include "registry/store/store.hpp"

#include <filesystem>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace cybele::cli {

/// The store's folder: by the settings, else where store_directory() says.
[[nodiscard]] Result<registry::StoreFolder> store_root(const Session& session);
[[nodiscard]] Result<registry::Store> open_store(const Session& session);
[[nodiscard]] Result<registry::Store> open_store_for_reading(const Session& session);

/// What the verbs that read an image take: a path stays as it is; `store:…` becomes the file in the
/// store, checked, and kept from gc while this process and what takes its place run.
[[nodiscard]] Result<std::string> image_path(const Session& session, const std::string& image);
/// For verbs that change an image: `store:…` and links into a store are refused, for the digest
/// would not hold.
[[nodiscard]] Result<std::string> changeable_image_path(const Session& session,
                                                        const std::string& image);

/// `sha256:0123456789ab`
[[nodiscard]] std::string short_digest(const std::string& digest);
/// `12.3 MiB`
[[nodiscard]] std::string rough_size(std::uint64_t bytes);
[[nodiscard]] nlohmann::json image_json(const registry::StoredImage& image);
/// With "format": 1, keys sorted.
void print_document(nlohmann::json document);

/// Below `image`.
void install_image_transfers(CLI::App& image, Session& session);
/// Below `image`.
void install_image_changes(CLI::App& image, Session& session);
/// Below `image`.
void install_image_tree(CLI::App& image, Session& session);

} // namespace cybele::cli
