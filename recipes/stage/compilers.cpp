// SPDX-License-Identifier: Apache-2.0
#include "recipes/stage/compilers.hpp"

#include <charconv>

namespace cybele::recipes {
namespace {

constexpr TargetRow kTargets[] = {
    {"x86-64", "amd64", 4},
    {"x86-64-v2", "amd64", 11},
    {"x86-64-v3", "amd64", 11},
    {"x86-64-v4", "amd64", 11},
    {"haswell", "amd64", 5},
    {"broadwell", "amd64", 5},
    {"skylake-avx512", "amd64", 6},
    {"cascadelake", "amd64", 9},
    {"icelake-server", "amd64", 8},
    {"sapphirerapids", "amd64", 11},
    {"znver1", "amd64", 6},
    {"znver2", "amd64", 9},
    {"znver3", "amd64", 11},
    {"znver4", "amd64", 13},
    {"armv8-a", "arm64", 5},
    {"armv8.2-a", "arm64", 7},
    {"armv9-a", "arm64", 12},
};

} // namespace

std::span<const TargetRow> targets() {
    return kTargets;
}

const TargetRow* find_target(std::string_view word) {
    for (const auto& row : kTargets) {
        if (row.word == word) {
            return &row;
        }
    }
    return nullptr;
}

WantedCompilers compilers_of(const StageContext& context) {
    const StageFields& own = *context.fields;
    const bool is_own = !own.compiler_family.empty();
    const StageFields& from = is_own ? own : *context.recipe;
    return {from.compiler_family, from.compiler_version, from.compiler_target, is_own};
}

std::string compiler_lines(const StageContext& context) {
    const WantedCompilers wanted = compilers_of(context);
    if (wanted.family.empty() || !context.is_building()) {
        return {};
    }
    const std::string flags = "'-O2 -march=" + wanted.target + "'\n";
    return "export CC=gcc CXX=g++ FC=gfortran\nexport CFLAGS=" + flags +
           "export CXXFLAGS=" + flags + "export FCFLAGS=" + flags + "export FFLAGS=" + flags;
}

int major_of(std::string_view version) {
    int major = 0;
    std::from_chars(version.data(), version.data() + version.size(), major);
    return major;
}

} // namespace cybele::recipes
