// SPDX-License-Identifier: Apache-2.0
#include "cli/image/apptainer_cache.hpp"

#include "cli/common/apptainer_folders.hpp"
#include "cli/common/date_text.hpp"
#include "cli/common/image_store.hpp"
#include "cli/image/cache_entries.hpp"
#include "cli/run/flag_words.hpp"
#include "registry/store/layers.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <set>

#include <fmt/format.h>
#include <unistd.h>

namespace cybele::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSecondsPerDay = 86400;

/// How Apptainer calls the part of its cache that an image of a URI is in, in its order.
struct CacheTypeRow {
    std::string_view name; ///< what the image's name begins with
    std::string_view type;
    std::string_view digest = ""; ///< what the name of its entry begins with
};
constexpr CacheTypeRow kCacheTypes[] = {{"uri/library-", "library", "sha256."},
                                        {"uri/", "oci-tmp"}, // of no other part
                                        {"uri/shub-", "shub"},
                                        {"uri/oras-", "oras", "sha256:"},
                                        {"uri/http", "net"}};
constexpr std::string_view kBlobs = "blob"; ///< what images are made from

/// An image that was pulled by several URIs is in several parts.
std::vector<std::string_view> types_of(const registry::StoredImage& image) {
    std::vector<std::string_view> types;
    for (const std::string& name : image.record.names) {
        const CacheTypeRow* found = nullptr; // the longest beginning
        for (const CacheTypeRow& row : kCacheTypes) {
            const bool is_longer = found == nullptr || row.name.size() > found->name.size();
            found = name.starts_with(row.name) && is_longer ? &row : found;
        }
        if (found != nullptr && !contains(types, found->type)) {
            types.push_back(found->type);
        }
    }
    return types;
}

struct UriImage {
    registry::StoredImage image;
    std::string_view type;
    std::string entry; ///< its name in the cache
};

/// "1.50 MiB": two digits, the smallest unit is a KiB.
std::string cache_size(std::uint64_t bytes) {
    constexpr std::array<std::string_view, 4> kUnits = {"KiB", "MiB", "GiB", "TiB"};
    constexpr double kUnit = 1024;
    double size = static_cast<double>(bytes) / kUnit;
    std::size_t unit = 0;
    for (; size >= kUnit && unit + 1 < kUnits.size(); ++unit) {
        size /= kUnit;
    }
    return fmt::format("{:.2f} {}", size, kUnits.at(unit));
}

/// The name of the image's entry in this part of the cache.
std::string entry_of(const registry::StoredImage& image, const CacheTypeRow& row) {
    constexpr std::string_view kContents = "uri/oci-tmp:";
    for (const std::string& name : image.record.names) {
        if (row.type == "oci-tmp" && name.starts_with(kContents)) {
            return name.substr(kContents.size());
        }
    }
    const std::string& digest = image.record.digest;
    return std::string(row.digest) + digest.substr(digest.find(':') + 1);
}

Result<std::vector<UriImage>> uri_images(const Session& session,
                                         const std::vector<std::string>& types) {
    CYBELE_TRY(const registry::StoreFolder root, store_root(session));
    if (!registry::Store::exists(root)) {
        return std::vector<UriImage>();
    }
    CYBELE_TRY(const registry::Store store, registry::Store::open_for_reading(root));
    CYBELE_TRY(const std::vector<registry::StoredImage> all, store.list(Session::clock()));
    std::vector<UriImage> images;
    for (const CacheTypeRow& row : kCacheTypes) {
        for (const registry::StoredImage& one : all) {
            if (has_cache_type(types, row.type) && contains(types_of(one), row.type)) {
                images.push_back({one, row.type, entry_of(one, row)});
            }
        }
    }
    return images;
}

/// Layers and configurations that images of URIs were made from.
Result<std::vector<registry::LayerFile>> stored_layers(const Session& session) {
    CYBELE_TRY(const registry::StoreFolder root, store_root(session));
    if (!registry::Store::exists(root)) {
        return std::vector<registry::LayerFile>();
    }
    CYBELE_TRY(const registry::Store store, registry::Store::open_for_reading(root));
    return registry::Layers(store.place()).list();
}

void print_cache_row(const std::string& name,
                     std::int64_t time,
                     std::uint64_t bytes,
                     std::string_view type) {
    constexpr std::size_t kShownName = 22;
    Session::print(fmt::format("{:<24} {:<22} {:<16} {}\n",
                               printable(name.substr(0, kShownName)),
                               readable_time(time).substr(0, 19),
                               cache_size(bytes),
                               type));
}

/// With what Apptainer says, once, where the old name decides, or names another value.
std::string cache_setting(const Session& session, const std::string& name) {
    static std::set<std::string> told;
    const std::string value = session.environment.get_or("APPTAINER_" + name, "");
    const std::string old = session.environment.get_or("SINGULARITY_" + name, "");
    if (value == old || old.empty() || !told.insert(name).second) {
        return value.empty() ? old : value;
    }
    if (value.empty()) {
        session.inform_as_apptainer("Environment variable SINGULARITY_" + name +
                                    " is set, but APPTAINER_" + name + " is preferred");
    } else {
        session.warn_as_apptainer("SINGULARITY_" + name + " and APPTAINER_" + name +
                                  " have different values, using the latter");
    }
    return value.empty() ? old : value;
}

} // namespace

Result<bool> has_apptainer_cache(const Session& session) {
    const std::string disabled = cache_setting(session, "DISABLE_CACHE");
    if (!disabled.empty()) {
        const auto is_disabled = read_switch({"APPTAINER_DISABLE_CACHE", disabled});
        if (!is_disabled) {
            return fail(
                ErrorCode::kInput,
                problem("cache-switch-malformed",
                        "Failed to create an image cache handle: failed to parse environment "
                        "variable APPTAINER_DISABLE_CACHE: strconv.ParseBool: parsing \"" +
                            printable(disabled) + "\": invalid syntax"));
        }
        if (*is_disabled) {
            return false;
        }
    }
    const std::string chosen = cache_setting(session, "CACHEDIR");
    std::error_code failed;
    fs::path nearest = chosen;
    while (!nearest.empty() && nearest.has_relative_path() && !fs::exists(nearest, failed)) {
        nearest = nearest.parent_path();
    }
    if (!nearest.empty() && ::access(nearest.c_str(), W_OK) != 0) {
        session.warn_as_apptainer("Cache disabled - cache location " + printable(nearest.native()) +
                                  " is not writable.");
        return false;
    }
    if (chosen.empty() || !fs::exists(chosen, failed) || fs::is_directory(chosen, failed)) {
        return true;
    }
    return fail(
        ErrorCode::kEnvironment,
        problem("cache-not-directory", "the cache '" + printable(chosen) + "' is not a directory")
            .about(chosen),
        "APPTAINER_CACHEDIR names it",
        "name a directory");
}

bool has_cache_type(const std::vector<std::string>& types, std::string_view type) {
    return types.empty() || std::ranges::any_of(types, [&](const std::string& one) {
               return one == type || one == "all";
           });
}

bool is_image_type(std::string_view type) {
    return type == "all" ||
           std::ranges::any_of(kCacheTypes, [&](const auto& row) { return row.type == type; });
}

std::vector<std::string> read_cache_types(const Session& session,
                                          const std::vector<std::string>& lists,
                                          UnknownTypes unknown) {
    std::vector<std::string> types;
    for (const std::string& list : lists) {
        for (const std::string_view type : text::split_terminated(list, ',')) {
            if (unknown == UnknownTypes::kWarned && !is_image_type(type) && type != kBlobs) {
                Fault fault;
                fault.code = ErrorCode::kInput;
                fault.set(problem("cache-type-unknown",
                                  "the cache has no type '" + printable(std::string(type)) + "'"));
                fault.because = "the types are library, oci-tmp, shub, blob, net, oras and all";
                fault.help = "leave out --type for all of them";
                fault.is_warning = true; // as with Apptainer, such a type is empty
                session.note({fault});
            }
            types.emplace_back(type);
        }
    }
    return types;
}

Result<int> list_apptainer_cache(const Session& session,
                                 bool has_cache,
                                 bool is_long,
                                 const std::vector<std::string>& types) {
    const bool has_parts = has_cache_type(types, kBlobs);
    std::vector<UriImage> images;
    std::vector<CacheEntry> parts;
    std::vector<registry::LayerFile> layers;
    if (has_cache) {
        CYBELE_TRY(images, uri_images(session, types));
    }
    if (has_cache && has_parts) {
        CYBELE_TRY(const Cache cache, open_cache(session));
        parts = entries_of(session, cache, "");
        std::erase_if(parts,
                      [](const CacheEntry& one) { return one.kind == "steps"; }); // not there
        CYBELE_TRY(layers, stored_layers(session));
    }
    if (is_long) {
        Session::print(
            fmt::format("{:<24} {:<22} {:<16} {}\n", "NAME", "DATE CREATED", "SIZE", "TYPE"));
    }
    std::uint64_t of_parts = 0;
    for (const CacheEntry& one : parts) {
        of_parts += one.bytes;
        if (is_long) {
            print_cache_row(one.key, one.used, one.bytes, "blob");
        }
    }
    for (const registry::LayerFile& one : layers) {
        of_parts += one.size;
        if (is_long) {
            print_cache_row(one.path.parent_path().filename().native() +
                                one.path.filename().native(),
                            one.used,
                            one.size,
                            "blob");
        }
    }
    std::uint64_t of_images = 0;
    for (const UriImage& one : images) {
        of_images += one.image.record.size;
        if (is_long) {
            print_cache_row(one.entry, one.image.used, one.image.record.size, one.type);
        }
    }
    std::vector<std::string> counts;
    if (types.empty() || std::ranges::any_of(types, is_image_type)) {
        counts.push_back(
            fmt::format("{} container file(s) using {}", images.size(), cache_size(of_images)));
    }
    if (has_parts) {
        counts.push_back(fmt::format(
            "{} oci blob file(s) using {}", parts.size() + layers.size(), cache_size(of_parts)));
    }
    Session::print(fmt::format("{}There are {}{}of space\nTotal space used: {}\n",
                               is_long ? "\n" : "",
                               fmt::join(counts, " and "),
                               counts.empty() ? "" : " ",
                               cache_size(of_images + of_parts)));
    return 0;
}

namespace {

/// Where Apptainer keeps its files; the names of ours are another matter.
fs::path apptainer_cache_folder(const Session& session) {
    const std::string chosen = apptainer_cache_setting(session);
    return (chosen.empty() ? session.environment.home() / ".apptainer" : fs::path(chosen)) /
           "cache";
}

} // namespace

Result<void> inform_of_cleaning(const Session& session,
                                bool has_cache,
                                int days,
                                const std::vector<std::string>& types) {
    std::vector<std::string> parts = types;
    if (types.empty() || contains(types, "all")) {
        parts = {kBlobs.data(), "library", "oci-tmp", "shub", "oras", "net"};
    }
    const std::int64_t now = Session::clock();
    const auto is_old = [&](std::int64_t used) {
        return days <= 0 || now - used >= days * kSecondsPerDay;
    };
    std::vector<UriImage> images;
    std::vector<registry::LayerFile> layers;
    if (has_cache) {
        CYBELE_TRY(images, uri_images(session, {}));
        CYBELE_TRY(layers, stored_layers(session));
    }
    const fs::path folder = has_cache ? apptainer_cache_folder(session) : fs::path();
    for (const std::string& type : parts) {
        std::vector<std::string> entries;
        bool is_empty = true; // what is too young is passed over in silence
        for (const UriImage& one : images) {
            is_empty = is_empty && one.type != type;
            if (one.type == type && is_old(one.image.used)) {
                entries.push_back(one.entry);
            }
        }
        if (type == kBlobs && !layers.empty()) {
            is_empty = false;
            if (std::ranges::any_of(layers, [&](const auto& one) { return is_old(one.used); })) {
                entries = {"blobs", "index.json", "oci-layout"};
            }
        }
        if (is_empty) {
            session.inform_as_apptainer("No cached files to remove at " +
                                        printable((folder / type).native()));
        }
        for (const std::string& entry : entries) {
            session.inform_as_apptainer(fmt::format("Removing {} cache entry: {}", type, entry));
        }
    }
    return {};
}

Result<void>
clean_apptainer_images(const Session& session, int days, const std::vector<std::string>& types) {
    CYBELE_TRY(const auto images, uri_images(session, types));
    const std::int64_t now = Session::clock();
    std::string last;
    for (const auto& [one, type, entry] : images) {
        const bool is_done = one.record.digest == last;
        last = one.record.digest;
        if (is_done || one.is_leased || (days > 0 && now - one.used < days * kSecondsPerDay)) {
            continue;
        }
        CYBELE_TRY(const registry::Store store, open_store(session));
        CYBELE_CHECK(store.remove(one, false, now));
    }
    return {};
}

Result<void> clean_apptainer_layers(const Session& session, int days) {
    CYBELE_TRY(const auto layers, stored_layers(session));
    const std::int64_t now = Session::clock();
    for (const registry::LayerFile& one : layers) {
        if (days <= 0 || now - one.used >= days * kSecondsPerDay) {
            (void)registry::Layers::remove(one); // false: a build uses it
        }
    }
    return {};
}

} // namespace cybele::cli
