// SPDX-License-Identifier: Apache-2.0
// Opening a store, and looking into it.
#include "registry/store/lease.hpp"
#include "registry/store/store.hpp"
#include "support/own_folder.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <system_error>

namespace cybele::registry {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kStoreFormat = "1\n";
constexpr std::size_t kWholeDigest = 71;

tl::unexpected<Error> no_store(const fs::path& root, std::string because) {
    return fail(ErrorCode::kInput,
                problem("not-a-store", printable(root.native()) + " is not an image store"),
                std::move(because),
                "name another folder by CYBELE_STORE; the first `cybelectl image add` makes a "
                "store there");
}

Result<void> judge_format(const Place& place) {
    CYBELE_TRY(const std::string text, read_file(place.format_file(), 4096));
    if (text == kStoreFormat) {
        return {};
    }
    const std::string version = text.substr(0, text.find('\n'));
    const bool is_number =
        !version.empty() && version.find_first_not_of("0123456789") == std::string::npos;
    if (is_number) {
        return fail(
            ErrorCode::kInput,
            problem("store-version",
                    "the store " + printable(place.root().native()) + " is of version " + version),
            "this program knows version 1: a later one made it",
            "use the later cybelectl, or name another store: CYBELE_STORE=FOLDER");
    }
    return no_store(place.root(), "its file `format` holds no version");
}

/// A group may share a store; who else owns one decides what its names mean, and is allowed by the
/// user first.
OwnFolder own_folder(const fs::path& root, bool is_allowed) {
    OwnFolder folder{root, "the store of images", "CYBELE_STORE", OwnFolder::kGroupFolder};
    folder.rules.has_any_owner = is_allowed;
    folder.allow = "cybelectl config trust " + shell_quote(root.native());
    return folder;
}

/// A folder of other things does not become a store by a mistyped name. What another process put
/// there after it made the format is of the same store.
Result<void> make_format(const Place& place) {
    std::error_code error;
    for (auto it = fs::directory_iterator(place.root(), error);
         !error && it != fs::directory_iterator();
         it.increment(error)) {
        if (!it->path().filename().native().starts_with("format")) {
            if (fs::exists(place.format_file(), error)) {
                return {};
            }
            return no_store(place.root(), "there are other things in it");
        }
    }
    if (auto made = place.write_shared(place.format_file(), kStoreFormat); !made) {
        return fail(std::move(made).error().with_context("making a store of images"));
    }
    return {};
}

} // namespace

bool Store::exists(const StoreFolder& folder) {
    std::error_code error;
    return fs::exists(Place(folder.path).format_file(), error);
}

Result<Store> Store::open(const StoreFolder& folder) {
    const Place place(fs::absolute(folder.path).lexically_normal());
    CYBELE_CHECK(make_own_folder(own_folder(place.root(), folder.is_allowed)));
    if (!exists(place.root())) {
        CYBELE_CHECK(make_format(place));
    }
    CYBELE_CHECK(judge_format(place));
    for (const fs::path& own :
         {place.blobs().parent_path(), place.blobs(), place.leases(), place.temporary()}) {
        CYBELE_CHECK(place.make_folder(own));
    }
    CYBELE_TRY(Index index, Index::open(place));
    return Store(place, std::move(index));
}

Result<Store> Store::open_for_reading(const StoreFolder& folder) {
    const Place place(fs::absolute(folder.path).lexically_normal());
    if (!exists(place.root())) {
        return no_store(place.root(), "there is none yet");
    }
    CYBELE_CHECK(check_own_folder(own_folder(place.root(), folder.is_allowed)));
    CYBELE_CHECK(judge_format(place));
    CYBELE_TRY(Index index, Index::open_for_reading(place));
    return Store(place, std::move(index));
}

StoredImage Store::image_of(const IndexRow& row) const {
    return {
        row.record, place_.blob(row.record.digest), last_used(place_, row.record.digest), false};
}

Result<std::vector<StoredImage>> Store::list(std::int64_t now) const {
    CYBELE_TRY(const auto rows, index_.all());
    const auto running = leased(place_, now);
    std::vector<StoredImage> images;
    images.reserve(rows.size());
    for (const IndexRow& row : rows) {
        StoredImage image = image_of(row);
        image.is_leased = running.contains(row.record.digest);
        images.push_back(std::move(image));
    }
    std::stable_sort(images.begin(), images.end(), [](const auto& a, const auto& b) {
        const auto& left = a.record.names;
        const auto& right = b.record.names;
        return left.empty() || right.empty() ? left.size() > right.size() && !left.empty()
                                             : left.front() < right.front();
    });
    return images;
}

Result<std::optional<StoredImage>> Store::find_digest(std::string_view digest) const {
    CYBELE_TRY(const auto row, index_.find(digest));
    return row ? std::optional(image_of(*row)) : std::nullopt;
}

Result<StoredImage> Store::find(const StoreName& name) const {
    std::string digest = name.digest;
    if (digest.empty()) {
        CYBELE_TRY(const auto named, index_.resolve(name.text()));
        if (!named) {
            CYBELE_TRY(const auto names, index_.names());
            const std::vector<std::string_view> known(names.begin(), names.end());
            std::string near = nearest(name.text(), known);
            // First another tag, or the same word in a group of a registry: `jq` for
            // `centre/jq:1.0`. A name of like letters is another image.
            const auto other = std::ranges::find_if(names, [&](const auto& text) {
                return text.starts_with(name.name + ":") || text.ends_with("/" + name.text()) ||
                       text.find("/" + name.name + ":") != std::string::npos;
            });
            near = other != names.end() ? *other : near;
            return fail(
                ErrorCode::kInput,
                problem("stored-image-missing", "no image " + name.text() + " in the store"),
                "the store is " + printable(place_.root().native()),
                near.empty() ? "`cybelectl image list` shows the stored images"
                             : "did you mean '" + near + "'?");
        }
        digest = *named;
    } else if (digest.size() < kWholeDigest) {
        CYBELE_TRY(const auto found, index_.matching(digest));
        if (found.size() > 1) {
            return fail(ErrorCode::kInput,
                        problem("stored-digest-ambiguous",
                                digest + " is the beginning of " + std::to_string(found.size()) +
                                    " digests"),
                        found[0] + " and " + found[1] + " begin so",
                        "give more digits");
        }
        digest = found.empty() ? digest : found.front();
    }
    CYBELE_TRY(const auto image, find_digest(digest));
    if (!image) {
        return fail(ErrorCode::kInput,
                    problem("stored-image-missing", "no image " + digest + " in the store"),
                    "the store is " + printable(place_.root().native()),
                    "`cybelectl image list` shows the stored images; add or pull the image");
    }
    return *image;
}

} // namespace cybele::registry
