// SPDX-License-Identifier: Apache-2.0
#include "images/inspection/survey.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace cybele::images {
namespace {

constexpr std::size_t kMostSurveyed = 10'000;

struct Rule {
    Evidence clue;
    std::string_view parent; ///< end of the folder's name; empty: any
    std::string_view begin;  ///< of the file's name
    std::string_view end;
};
constexpr std::array kRules = {
    Rule{Evidence::kGlibc, "", "libc.so.6", ""},
    Rule{Evidence::kGlibc, "", "libc-2.", ".so"},
    Rule{Evidence::kMusl, "lib", "ld-musl-", ".so.1"},
    Rule{Evidence::kMpi, "", "libmpi.so", ""},
    Rule{Evidence::kMpi, "", "libmpich.so", ""},
    Rule{Evidence::kPmix, "", "libpmix.so", ""},
    Rule{Evidence::kCuda, "", "libcudart.so.", ""},
    Rule{Evidence::kPython, "bin", "python2.", ""},
    Rule{Evidence::kPython, "bin", "python3.", ""},
    Rule{Evidence::kJava, "", "release", ""},
    Rule{Evidence::kSpark, "jars", "spark-core_", ".jar"},
    Rule{Evidence::kPipPackage, ".dist-info", "METADATA", ""},
    Rule{Evidence::kPipPackage, ".egg-info", "PKG-INFO", ""},
    Rule{Evidence::kPipPackage, "-packages", "", ".egg-info"},
    Rule{Evidence::kCondaPackage, "conda-meta", "", ".json"},
};

bool matches(const Rule& rule, std::string_view parent, std::string_view name) {
    return parent.ends_with(rule.parent) && name.starts_with(rule.begin) &&
           name.ends_with(rule.end);
}

} // namespace

Result<Survey> survey_files(const FilePointer& root) {
    Survey survey;
    CYBELE_CHECK(walk_files(root, [&](const std::string& path, const FilePointer& node) {
        if (!node->status().is_regular()) {
            // A kernel's views, where a directory is surveyed that is a machine's own root.
            return Result<bool>(path != "/proc" && path != "/sys" && path != "/dev");
        }
        const auto parent = std::string_view(path).substr(0, path.rfind('/'));
        for (const auto& rule : kRules) {
            auto& found = survey[rule.clue];
            if (matches(rule, parent, node->name()) && found.size() < kMostSurveyed) {
                found.push_back({path, node});
            }
        }
        return Result<bool>(false);
    }));
    return survey;
}

} // namespace cybele::images
