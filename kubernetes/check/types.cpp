// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/check/context.hpp"
#include "kubernetes/objects/names.hpp"
#include "kubernetes/objects/render.hpp"
#include "support/find.hpp"
#include "support/name.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

namespace cybele::kubernetes {
namespace {

/// The fields of a bridge's spec.
struct Shape {
    std::string_view kind;
    std::string_view path; ///< of a map in spec; empty: spec itself
    std::array<std::string_view, 11> fields;
};
constexpr std::array<Shape, 3> kShapes{{
    {"TorqueJob",
     "",
     {"batch",
      "nodeSelector",
      "results",
      "queue",
      "account",
      "onDelete",
      "ttlSecondsAfterFinished"}},
    {"SlurmJob",
     "",
     {"batch",
      "nodeSelector",
      "results",
      "prepare",
      "queue",
      "account",
      "onDelete",
      "ttlSecondsAfterFinished"}},
    {"TorqueJob", "results", {"from", "mount"}},
}};

void check_fields(Check& check, const CheckedObject& object, const Shape& shape) {
    const auto* spec = find_path(object.root, {"spec"});
    const auto* map = spec == nullptr || shape.path.empty() ? spec : spec->find(shape.path);
    if (map == nullptr) {
        return;
    }
    const auto end = std::ranges::find(shape.fields, std::string_view{});
    const std::span<const std::string_view> known(shape.fields.begin(), end);
    for (const auto& [key, value] : map->entries) {
        if (contains(known, key.scalar)) {
            continue;
        }
        std::string meant = nearest(key.scalar, known);
        for (const auto field : known) {
            const bool is_same =
                std::equal(field.begin(),
                           field.end(),
                           key.scalar.begin(),
                           key.scalar.end(),
                           [](char a, char b) { return (a | 0x20) == (b | 0x20); });
            meant = is_same ? std::string(field) : meant;
        }
        check.found("K9",
                    key.mark,
                    fmt::format("a {} has no field '{}'", shape.kind, printable(key.scalar)),
                    {},
                    meant.empty() ? fmt::format("known are {}", fmt::join(known, ", "))
                                  : fmt::format("did you mean `{}`?", meant));
    }
}

void check_kind(Check& check, const CheckedObject& object) {
    const auto* kind = object.root.find("kind");
    if (kind != nullptr && object.kind != object.known) {
        check.found("K9",
                    kind->mark,
                    fmt::format("`{}` is not a kind", printable(object.kind)),
                    {},
                    fmt::format("write `{}`, unless your operator spells it so", object.known));
    }
    for (const Shape& shape : kShapes) {
        if (shape.kind == object.known) {
            check_fields(check, object, shape);
        }
    }
    if (object.kind == "CustomResourceDefinition" &&
        text_at(object.root, {"apiVersion"}) == "apiextensions.k8s.io/v1beta1") {
        check.found(
            "K10", object.root.find("apiVersion")->mark, "apiextensions.k8s.io/v1beta1 is gone");
    }
}

bool is_dns_subdomain(std::string_view name) {
    constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyz0123456789-.";
    return !name.empty() && name.size() <= 253 &&
           name.find_first_not_of(kAllowed) == std::string_view::npos && name.front() != '-' &&
           name.front() != '.' && name.back() != '-' && name.back() != '.';
}

void check_name(Check& check, const CheckedObject& object) {
    const auto* name = find_path(object.root, {"metadata", "name"});
    if (name != nullptr && object.kind != "CustomResourceDefinition") {
        const bool has_job = find_path(object.root, {"spec", "batch"}) != nullptr ||
                             object.kind == "Job" || object.kind == "Pod";
        const bool is_good =
            has_job ? is_object_name(name->scalar) : is_dns_subdomain(name->scalar);
        if (!is_good && !name->scalar.empty()) {
            const std::string better = suggest_name(name->scalar);
            check.found("K11",
                        name->mark,
                        fmt::format("'{}' is not a valid object name", printable(name->scalar)),
                        {},
                        better.empty() ? "" : fmt::format("write `{}`", better));
        }
    }
    const auto* space = find_path(object.root, {"metadata", "namespace"});
    if (space != nullptr && !is_label_name(space->scalar)) {
        check.found("K11",
                    space->mark,
                    fmt::format("'{}' is not a valid namespace", printable(space->scalar)));
    }
}

/// `batch: #!/bin/sh` is nothing with a comment behind it.
void check_script_field(Check& check, const CheckedObject& object) {
    for (const auto& path : {std::pair{"spec", "batch"}, std::pair{"spec", "sbatchScript"}}) {
        const auto* node = find_path(object.root, {path.first, path.second});
        if (node != nullptr && (node->kind == yaml::Node::Kind::kNull || node->scalar.empty())) {
            check.found("K6", node->mark, fmt::format("`{}` is empty", path.second));
        }
    }
}

/// Objects of our own group, which cybelectl defines and does not execute.
void check_controller(Check& check, const CheckedObject& object) {
    const bool is_job = object.known == "TorqueJob" || object.known == "SlurmJob";
    if (is_job && object.group == kOwnGroup) {
        check.found("K43",
                    object.root.find("apiVersion")->mark,
                    fmt::format("a {} of {} needs a running bridge", object.kind, kOwnGroup));
    }
}

} // namespace

void check_types(Check& check) {
    for (const CheckedObject& object : check.objects) {
        check_kind(check, object);
        check_name(check, object);
        check_script_field(check, object);
        check_controller(check, object);
    }
}

} // namespace cybele::kubernetes
