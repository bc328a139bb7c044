// SPDX-License-Identifier: Apache-2.0
#include "launchers/documents/site_templates.hpp"

#include "support/file.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>

namespace cybele::launchers {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kField = "templates";
constexpr std::string_view kSuffix = ".mustache";
constexpr std::size_t kMostBytes = std::size_t{1} << 20U; // the embedded ones have 6 kB at most

void complain(document::Reading& reading, const fs::path& file, std::string because) {
    reading.complain(
        std::string(kField),
        problem("site-templates-unreadable", "cannot read " + printable(file.native())),
        std::move(because),
        "name a folder with files such as script/setup.mustache");
}

/// The templates in one folder, whose names begin with `before`.
void read_folder(document::Reading& reading,
                 const fs::path& folder,
                 const std::string& before,
                 std::vector<SiteTemplate>& into) {
    std::error_code error;
    fs::directory_iterator entries(folder, error);
    for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
        const fs::path& file = entries->path();
        if (file.extension() != kSuffix) {
            continue;
        }
        auto text = read_file(file, kMostBytes);
        if (!text) {
            complain(reading, file, text.error().faults().front().because);
            continue;
        }
        into.push_back({before + file.stem().native(), std::move(*text), file.native()});
    }
    if (error && !(error == std::errc::no_such_file_or_directory && !before.empty())) {
        complain(reading, folder, error.message());
    }
}

} // namespace

std::vector<SiteTemplate> read_site_templates(document::Reading& reading, const fs::path& folder) {
    std::vector<SiteTemplate> templates;
    for (const std::string before : {"", "script/", "dialect/"}) {
        read_folder(reading, folder / before, before, templates);
    }
    std::sort(templates.begin(), templates.end(), [](const auto& one, const auto& other) {
        return one.name < other.name;
    });
    return templates;
}

} // namespace cybele::launchers
