// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/sif/sif.hpp"
#include "registry/store/store.hpp"
#include "support/file.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

/// A store of images for tests.
namespace cybele::registry {

inline constexpr std::int64_t kNow = 1'800'000'000;
inline constexpr std::int64_t kDay = 86400;
inline constexpr std::int64_t kHour = 3600;

struct Shop {
    TempDirectory folder = *TempDirectory::make("/var/tmp", "cybele-store");
    std::filesystem::path root = folder.path() / "store";
    Store store = *Store::open(root);

    /// An image whose bytes depend on the text.
    [[nodiscard]] std::filesystem::path image(const std::string& text) const {
        std::filesystem::path file = folder.path() / (text + ".sif");
        images::NewImage made;
        images::NewObject object;
        object.type = images::DataType::kGeneric;
        object.name = "text";
        object.bytes = text;
        made.objects.push_back(object);
        REQUIRE(images::write_image(file, made));
        return file;
    }
    StoredImage add(const std::string& text, const std::string& name, std::int64_t now = kNow) {
        Arrival arrival;
        arrival.now = now;
        arrival.origin = text + ".sif";
        if (!name.empty()) {
            arrival.name = *read_new_name(name);
        }
        const auto added = store.add(image(text), arrival);
        REQUIRE(added);
        return *added;
    }
    [[nodiscard]] std::vector<std::string> digests() const {
        std::vector<std::string> all;
        const auto images = store.list(kNow);
        for (const auto& one : *images) {
            all.push_back(one.record.digest);
        }
        return all;
    }
};

} // namespace cybele::registry
