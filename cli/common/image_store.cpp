// SPDX-License-Identifier: Apache-2.0
#include "cli/common/image_store.hpp"

#include "registry/store/lease.hpp"
#include "registry/store/stored_file.hpp"
#include "support/json.hpp"
#include "support/quote.hpp"
#include "support/trusted_folders.hpp"

#include <array>

#include <fmt/format.h>

namespace cybele::cli {

namespace fs = std::filesystem;

Result<registry::StoreFolder> store_root(const Session& session) {
    CYBELE_TRY(const pipeline::Settings settings, session.settings());
    CYBELE_TRY(const TrustedFolders trusted, TrustedFolders::load(session.environment));
    const std::string own = settings.get("store");
    const fs::path path =
        own.empty() ? registry::store_directory(session.environment) : fs::path(own);
    return registry::StoreFolder(path, trusted.allows(path));
}

Result<registry::Store> open_store(const Session& session) {
    CYBELE_TRY(const registry::StoreFolder root, store_root(session));
    return registry::Store::open(root);
}

Result<registry::Store> open_store_for_reading(const Session& session) {
    CYBELE_TRY(const registry::StoreFolder root, store_root(session));
    return registry::Store::open_for_reading(root);
}

namespace {

/// Whether the store has an image by this name, written without `store:`.
bool is_in_store(const Session& session, const std::string& image) {
    const auto name = registry::read_store_argument("store:" + image);
    if (!name) {
        return false;
    }
    const auto store = open_store_for_reading(session);
    return store && store->find(*name).has_value();
}

/// The name of a file; refuses a name of a registry or of the store with what to write instead.
Result<std::string> image_file(const Session& session, const std::string& image) {
    std::error_code error;
    if (fs::exists(fs::symlink_status(image, error))) {
        return image;
    }
    const std::string name = printable(image);
    if (image.find("://") != std::string::npos) {
        return fail(ErrorCode::kInput,
                    problem("image-of-registry", "'" + name + "' is not a file").about(image),
                    "this command reads an image file or an image of the store",
                    "pull it first: cybelectl image pull " + shell_quote(image));
    }
    if (is_in_store(session, image)) {
        return fail(ErrorCode::kInput,
                    problem("image-in-store", "no such file: " + name),
                    "the store has an image of this name",
                    "write `store:" + name + "`");
    }
    return image;
}

} // namespace

Result<std::string> image_path(const Session& session, const std::string& image) {
    if (!registry::is_store_reference(image)) {
        return image_file(session, image);
    }
    CYBELE_TRY(const registry::StoreName name, registry::read_store_argument(image));
    CYBELE_TRY(const registry::Store store, open_store_for_reading(session));
    CYBELE_TRY(const registry::StoredImage found, store.find(name));
    CYBELE_CHECK(registry::lease_for_process(store.place(), found.record.digest));
    CYBELE_TRY(const fs::path path, store.use(found, Session::clock()));
    return path.native();
}

Result<std::string> changeable_image_path(const Session& session, const std::string& image) {
    const bool is_named = registry::is_store_reference(image);
    if (!is_named) {
        CYBELE_TRY(const registry::StoreFolder root, store_root(session));
        if (!registry::is_stored_file(registry::Place(root.path), image)) {
            return image;
        }
    }
    return fail(ErrorCode::kUsage,
                problem("stored-image-read-only",
                        "an image in the store is never changed: " + printable(image)),
                is_named ? "its name there is the digest of its bytes"
                         : "this file is a link to it; its name there is the digest of its bytes",
                fmt::format("copy it, change the copy, add that: cybelectl image copy {} app.sif",
                            shell_quote(image)));
}

std::string short_digest(const std::string& digest) {
    constexpr std::size_t kShown = 19; // "sha256:" and 12 digits
    return digest.substr(0, kShown);
}

std::string rough_size(std::uint64_t bytes) {
    constexpr std::array<const char*, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
    constexpr double kStep = 1024;
    auto size = static_cast<double>(bytes);
    std::size_t unit = 0;
    while (size >= kStep && unit + 1 < kUnits.size()) {
        size /= kStep;
        ++unit;
    }
    return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", size, kUnits.at(unit));
}

nlohmann::json image_json(const registry::StoredImage& image) {
    const registry::Record& record = image.record;
    return {{"digest", record.digest},
            {"size", record.size},
            {"architecture", record.architecture},
            {"names", record.names},
            {"origin", record.origin},
            {"repositories", record.repositories},
            {"created", record.created},
            {"used", image.used},
            {"in-use", image.is_leased},
            {"path", image.path.native()}};
}

void print_document(nlohmann::json document) {
    document["format"] = 1;
    Session::print(json_text(document) + "\n");
}

} // namespace cybele::cli
