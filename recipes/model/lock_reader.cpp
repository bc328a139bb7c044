// SPDX-License-Identifier: Apache-2.0
#include "recipes/model/lock.hpp"
#include "recipes/model/recipe_fields.hpp"
#include "support/document_view.hpp"

#include <array>
#include <charconv>
#include <set>

namespace cybele::recipes {
namespace {

using document::Reading;
using document::View;

constexpr std::array<std::string_view, 6> kLists{
    "system", "pip", "conda", "spack", "source", "repository"};

LockedPackage read_line(std::string_view line) {
    std::array<std::string, 4> words;
    for (auto& word : words) {
        const auto blank = line.find(' ');
        word = std::string(line.substr(0, blank));
        line = blank == std::string_view::npos ? std::string_view{} : line.substr(blank + 1);
    }
    return {words[0], words[1], words[2], words[3]};
}

LockVariant read_locked_variant(const View& view) {
    LockVariant variant;
    variant.name = view.text("name");
    variant.arch = view.text("arch");
    const View base = view.table("base");
    variant.distribution = base.text("distribution");
    variant.release = base.list("release");
    variant.image = base.text("image");
    variant.image_digest = base.text("digest");
    for (const View& image : view.tables("images")) {
        variant.images[image.text("image")] = image.text("digest");
    }
    const std::string epoch = view.text("epoch");
    std::from_chars(epoch.data(), epoch.data() + epoch.size(), variant.epoch);
    for (const auto list : kLists) {
        if (!view.has(list)) {
            continue;
        }
        auto& packages = variant.packages[std::string(list)];
        for (const auto& line : view.list(list)) {
            packages.push_back(read_line(line));
        }
    }
    return variant;
}

void check_locked_base(Reading& reading, const View& view, const LockVariant& variant) {
    const std::string path = view.path("base");
    if (!reading.is_good(path)) {
        return;
    }
    if (!variant.distribution.empty() && variant.release.empty()) {
        reading.complain(path,
                         problem("lock-without-release", "'release' is missing"),
                         "without the digests of the release files the base is not locked",
                         "write the Lock again with `cybelectl recipe lock`");
    }
    if (!variant.image.empty() && variant.image_digest.empty()) {
        reading.complain(path,
                         problem("lock-without-digest", "'digest' is missing"),
                         "without its digest the base image is not locked",
                         "write the Lock again with `cybelectl recipe lock`");
    }
}

} // namespace

std::string LockVariant::digest_of(const std::string& base_image) const {
    if (!base_image.empty() && base_image == image) {
        return image_digest;
    }
    const auto found = images.find(base_image);
    return found == images.end() ? std::string() : found->second;
}

Result<Lock> read_lock(std::string text, const std::filesystem::path& file) {
    Lock lock;
    CYBELE_TRY(Reading reading, Reading::open(lock_kind(), std::move(text), file.string()));
    const View root = reading.root();
    lock.recipe = root.text("recipe");
    lock.covers_packages_only = root.has("rule");
    lock.fields = root.map("fields");
    std::set<std::string> names;
    for (const View& view : root.tables("variants")) {
        LockVariant variant = read_locked_variant(view);
        check_locked_base(reading, view, variant);
        if (!names.insert(variant.name + "/" + variant.arch).second) {
            reading.complain(
                view.path("name"),
                problem("lock-variant-duplicate", "duplicate variant '" + variant.name + "'"),
                "which one counts would be unknown",
                "write the Lock again with `cybelectl recipe lock`");
        }
        lock.variants.push_back(std::move(variant));
    }
    if (reading.faults().has_errors()) {
        return fail(reading.faults().take());
    }
    lock.source = reading.source();
    lock.marks = reading.marks();
    return lock;
}

} // namespace cybele::recipes
