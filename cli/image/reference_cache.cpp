// SPDX-License-Identifier: Apache-2.0
#include "cli/image/reference_cache.hpp"

#include "cli/common/date_text.hpp"
#include "cli/common/image_store.hpp"
#include "cli/image/cache_entries.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>
#include <unistd.h>

namespace cybele::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOfUri = "uri/"; // what names of such images begin with
constexpr std::int64_t kSecondsPerDay = 86400;

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

Result<std::vector<registry::StoredImage>> uri_images(const Session& session) {
    CYBELE_TRY(const registry::StoreFolder root, store_root(session));
    if (!registry::Store::exists(root)) {
        return std::vector<registry::StoredImage>();
    }
    CYBELE_TRY(const registry::Store store, registry::Store::open_for_reading(root));
    CYBELE_TRY(std::vector<registry::StoredImage> images, store.list(Session::clock()));
    std::erase_if(images, [](const registry::StoredImage& one) {
        const auto& names = one.record.names;
        return std::none_of(names.begin(), names.end(), [](const std::string& name) {
            return name.starts_with(kOfUri);
        });
    });
    return images;
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

} // namespace

void use_reference_cache(Session& session) {
    if (session.other_name.empty()) {
        return;
    }
    const std::string chosen = session.environment.get_or(
        "APPTAINER_CACHEDIR", session.environment.get_or("SINGULARITY_CACHEDIR", ""));
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

Result<int> list_reference_cache(const Session& session, bool is_long) {
    CYBELE_TRY(const auto images, uri_images(session));
    CYBELE_TRY(const Cache cache, open_cache(session));
    const auto parts = entries_of(session, cache, "");
    if (is_long) {
        Session::print(
            fmt::format("{:<24} {:<22} {:<16} {}\n", "NAME", "DATE CREATED", "SIZE", "TYPE"));
    }
    std::uint64_t of_images = 0;
    for (const registry::StoredImage& one : images) {
        of_images += one.record.size;
        if (is_long) {
            print_cache_row(one.record.digest.substr(7), one.used, one.record.size, "oci-tmp");
        }
    }
    std::uint64_t of_parts = 0;
    for (const CacheEntry& one : parts) {
        of_parts += one.bytes;
        if (is_long) {
            print_cache_row(one.key, one.used, one.bytes, "blob");
        }
    }
    Session::print(fmt::format(
        "{}There are {} container file(s) using {} and {} oci blob file(s) using {} of space\n"
        "Total space used: {}\n",
        is_long ? "\n" : "",
        images.size(),
        cache_size(of_images),
        parts.size(),
        cache_size(of_parts),
        cache_size(of_images + of_parts)));
    return 0;
}

Result<void> clean_reference_images(const Session& session, int days) {
    CYBELE_TRY(const auto images, uri_images(session));
    const std::int64_t now = Session::clock();
    for (const registry::StoredImage& one : images) {
        if (one.is_leased || (days > 0 && now - one.used < days * kSecondsPerDay)) {
            continue;
        }
        CYBELE_TRY(const registry::Store store, open_store(session));
        CYBELE_CHECK(store.remove(one, false, now));
    }
    return {};
}

} // namespace cybele::cli
