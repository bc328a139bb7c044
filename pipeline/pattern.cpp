// SPDX-License-Identifier: Apache-2.0
#include "pipeline/pattern.hpp"

#include <algorithm>
#include <string>
#include <system_error>

#include <fnmatch.h>

namespace cybele::pipeline {

namespace fs = std::filesystem;

std::vector<fs::path> find_files(const fs::path& folder, std::string_view pattern) {
    std::vector<fs::path> found{fs::path{}};
    for (const auto& part : fs::path(pattern)) {
        const std::string& form = part.native();
        if (form.empty() || form == ".") {
            continue;
        }
        std::vector<fs::path> deeper;
        for (const auto& path : found) {
            std::error_code error;
            for (const auto& entry : fs::directory_iterator(folder / path, error)) {
                const std::string name = entry.path().filename().native();
                if (::fnmatch(form.c_str(), name.c_str(), FNM_PERIOD) == 0) {
                    deeper.push_back(path / name);
                }
            }
        }
        found = std::move(deeper);
    }
    std::error_code error;
    std::erase_if(found, [&](const fs::path& path) {
        return path.empty() || !fs::is_regular_file(folder / path, error);
    });
    std::sort(found.begin(), found.end());
    return found;
}

} // namespace cybele::pipeline
