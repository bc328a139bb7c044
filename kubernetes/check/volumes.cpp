// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/check/context.hpp"
#include "kubernetes/objects/object.hpp"
#include "kubernetes/objects/render.hpp"
#include "support/quote.hpp"

#include <fmt/format.h>

namespace cybele::kubernetes {
namespace {

void check_host_paths(Check& check, const yaml::Node& node) {
    for (const auto& [key, value] : node.entries) {
        const auto* path = key.scalar == "hostPath" ? value.find("path") : nullptr;
        if (path != nullptr && !is_absolute_path(path->scalar)) {
            check.found("K13",
                        path->mark,
                        fmt::format("'{}' is not an absolute path", printable(path->scalar)));
        }
        check_host_paths(check, value);
    }
    for (const auto& item : node.items) {
        check_host_paths(check, item);
    }
}

void check_results_volume(Check& check, const CheckedObject& object) {
    if (object.group == kOwnGroup) {
        return; // its bridge reads below the workdir, knows patterns, and copies as the account
    }
    const auto* from = find_path(object.root, {"spec", "results", "from"});
    if (from != nullptr && !from->scalar.starts_with('/')) {
        check.found(
            "K15",
            from->mark,
            fmt::format("'{}' starts where the bridge's daemon runs", printable(from->scalar)));
    } else if (from != nullptr && from->scalar.find_first_of("*?[") != std::string::npos) {
        check.found("K42", from->mark, fmt::format("'{}' is a pattern", printable(from->scalar)));
    } else if (from != nullptr && from->scalar.ends_with('/')) {
        check.found("K42", from->mark, fmt::format("'{}' is a folder", printable(from->scalar)));
    }
    const auto* type = find_path(object.root, {"spec", "results", "mount", "hostPath", "type"});
    if (type != nullptr && type->scalar == "DirectoryOrCreate") {
        check.found("K16", type->mark, "the results' folder will belong to root");
    }
}

} // namespace

void check_volumes(Check& check) {
    for (const CheckedObject& object : check.objects) {
        check_host_paths(check, object.root);
        check_results_volume(check, object);
    }
}

} // namespace cybele::kubernetes
