// SPDX-License-Identifier: Apache-2.0
#include "pipeline/reproducible.hpp"

#include "images/inspection/diff.hpp"
#include "images/sif/sif.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace cybele::pipeline {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kShown = 20;

/// A line for each object but the signatures.
Result<std::vector<std::string>> objects_of(const images::Image& image) {
    std::vector<std::string> lines;
    for (const images::Descriptor& object : image.descriptors()) {
        if (object.type == images::DataType::kSignature) {
            continue;
        }
        CYBELE_TRY(const Digest digest,
                   sha256_range(image.fd(), object.offset, object.size, image.path()));
        lines.push_back(fmt::format("{} {} {}", object.id, object.name, hex(digest)));
    }
    return lines;
}

std::string describe(const images::Difference& difference) {
    std::string fields;
    for (const images::FieldChange& field : difference.fields) {
        if (!field.field.empty()) {
            fields += (fields.empty() ? "" : ", ") + field.field;
        }
    }
    return fmt::format("  {} {}{}",
                       difference.section,
                       printable(difference.name),
                       fields.empty() ? "" : " (" + fields + ")");
}

} // namespace

Result<void> compare_builds(const fs::path& one, const fs::path& other) {
    CYBELE_TRY(const auto before, images::open_contents(one));
    CYBELE_TRY(const auto after, images::open_contents(other));
    if (!before.image || !after.image) {
        return fail(ErrorCode::kInternal, problem("build-without-image", "a build made no SIF"));
    }
    CYBELE_TRY(const auto first, objects_of(*before.image));
    CYBELE_TRY(const auto second, objects_of(*after.image));
    if (first == second) {
        return {};
    }
    std::vector<std::string> lines;
    CYBELE_TRY(const auto notes,
               images::diff_contents(before, after, {}, [&](const images::Difference& difference) {
                   if (difference.section != "object" && difference.section != "header") {
                       lines.push_back(describe(difference));
                   }
               }));
    (void)notes;
    const std::size_t count = lines.size();
    lines.resize(std::min(count, kShown));
    if (count > kShown) {
        lines.push_back(fmt::format("  and {} more", count - kShown));
    }
    return fail(ErrorCode::kExecution,
                problem("build-not-reproducible", "two builds of the same gave different images"),
                lines.empty() ? "the files are the same, but not how they are packed"
                              : fmt::format("these differ:\n{}", fmt::join(lines, "\n")),
                "remove what varies in a step: times, random keys, the order of a list");
}

} // namespace cybele::pipeline
