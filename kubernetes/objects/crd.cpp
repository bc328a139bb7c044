// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/objects/crd.hpp"

#include "kubernetes/objects/names.hpp"
#include "kubernetes/objects/render.hpp"
#include "kubernetes/objects/yaml_tree.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace cybele::kubernetes {
namespace {

struct Row {
    std::string_view kind;
    std::string_view singular;
    std::string_view short_name;
    std::string_view system;
};
constexpr std::array<Row, 2> kRows{
    {{"TorqueJob", "torquejob", "tj", "TORQUE"}, {"SlurmJob", "slurmjob", "sj", "Slurm"}}};

constexpr std::int64_t kLongestScript = 262144;

using Map = Tree::Map;

Tree integer_schema(std::string_view format, std::string_view description) {
    return Map{{"type", "integer"}, {"format", format}, {"description", description}};
}

Tree text(std::int64_t most, std::string_view description) {
    return Map{{"type", "string"}, {"maxLength", most}, {"description", description}};
}

Tree time(std::string_view description) {
    return Map{{"type", "string"}, {"format", "date-time"}, {"description", description}};
}

Tree rule(std::string_view expression, std::string_view message) {
    return Map{{"rule", expression}, {"message", message}};
}

Tree words(Tree::List list, std::string_view description) {
    return Map{{"type", "string"}, {"enum", std::move(list)}, {"description", description}};
}

Tree node_selector_schema() {
    return Map{{"type", "object"},
               {"description", "labels that the virtual node must have"},
               {"maxProperties", std::int64_t{64}},
               {"additionalProperties", Map{{"type", "string"}, {"maxLength", std::int64_t{63}}}}};
}

/// A volume keeps every field that any version of core/v1 knows.
Tree results() {
    return Map{{"type", "object"},
               {"description", "what is copied back after the job"},
               {"required", Tree::List{"from", "mount"}},
               {"properties",
                Map{{"from",
                     Map{{"type", "string"},
                         {"minLength", std::int64_t{1}},
                         {"maxLength", std::int64_t{4096}},
                         {"description",
                          "a file, a folder or a pattern on the cluster: an absolute path, or one "
                          "below the workdir"}}},
                    {"mount",
                     Map{{"type", "object"},
                         {"description", "the volume that it is copied to"},
                         {"x-kubernetes-preserve-unknown-fields", true},
                         {"required", Tree::List{"name"}},
                         {"properties",
                          Map{{"name",
                               Map{{"type", "string"},
                                   {"minLength", std::int64_t{1}},
                                   {"maxLength", std::int64_t{63}}}}}}}}}}};
}

/// What the user of our own bridge may set besides the script.
Map own_fields() {
    return Map{{"queue", text(63, "queue or partition; the script's, else the site's")},
               {"account", text(63, "account on the cluster, where the namespace has several")},
               {"ttlSecondsAfterFinished",
                Map{{"type", "integer"},
                    {"format", "int32"},
                    {"minimum", std::int64_t{0}},
                    {"description", "seconds after which a finished object is deleted"}}},
               {"onDelete",
                Map{{"type", "string"},
                    {"enum", Tree::List{"Cancel", "Orphan"}},
                    {"default", "Cancel"},
                    {"description", "what becomes of the batch job when the object is deleted"}}}};
}

/// Every field but `onDelete` stays as it was made: the batch job is made of them once.
Tree immutable_spec() {
    constexpr std::array<std::string_view, 5> kFields{
        "queue", "account", "nodeSelector", "results", "ttlSecondsAfterFinished"};
    std::string all;
    for (const std::string_view field : kFields) {
        all += fmt::format("{0}has(self.{1}) == has(oldSelf.{1}) && "
                           "(!has(self.{1}) || self.{1} == oldSelf.{1})",
                           all.empty() ? "" : " && ",
                           field);
    }
    return Tree::List{rule(all, "the spec of a submitted job cannot change, except onDelete")};
}

Tree spec(const Row& row, bool is_ours) {
    Map batch{{"type", "string"},
              {"minLength", std::int64_t{1}},
              {"maxLength", kLongestScript},
              {"description", fmt::format("the complete batch script for {}", row.system)}};
    if (is_ours) {
        batch.emplace_back(
            "x-kubernetes-validations",
            Tree::List{rule("self.startsWith('#!')", "the script must begin with #!"),
                       rule("!self.contains('\\r')",
                            "the script has carriage returns, which batch systems refuse"),
                       rule("self == oldSelf", "the script of a submitted job cannot change")});
    }
    Map properties{{"batch", std::move(batch)},
                   {"nodeSelector", node_selector_schema()},
                   {"results", results()}};
    Map schema{{"type", "object"}, {"required", Tree::List{"batch"}}};
    if (is_ours) {
        for (auto& field : own_fields()) {
            properties.push_back(std::move(field));
        }
        schema.emplace_back("x-kubernetes-validations", immutable_spec());
    }
    schema.emplace_back("properties", std::move(properties));
    return schema;
}

Tree conditions() {
    return Map{{"type", "array"},
               {"maxItems", std::int64_t{16}},
               {"x-kubernetes-list-type", "map"},
               {"x-kubernetes-list-map-keys", Tree::List{"type"}},
               {"items",
                Map{{"type", "object"},
                    {"required", Tree::List{"type", "status"}},
                    {"properties",
                     Map{{"type",
                          text(316,
                               "Accepted, Submitted, Running, Cancelling, Complete, Failed, "
                               "ResultsCollected")},
                         {"status", words({"True", "False", "Unknown"}, "whether it holds")},
                         {"reason", text(1024, "one word")},
                         {"message", text(32768, "for people")},
                         {"lastTransitionTime", time("when it last changed")},
                         {"observedGeneration",
                          integer_schema("int64", "of the spec that it speaks of")}}}}}};
}

/// A pair of texts, of standard output and standard error.
Tree streams(std::int64_t most, std::string_view description) {
    return Map{{"type", "object"},
               {"description", description},
               {"properties",
                Map{{"stdout", text(most, "of standard output")},
                    {"stderr", text(most, "of standard error")}}}};
}

Tree result_files() {
    return Map{{"type", "array"},
               {"maxItems", std::int64_t{32}},
               {"description", "files that were collected"},
               {"items",
                Map{{"type", "object"},
                    {"required", Tree::List{"name"}},
                    {"properties",
                     Map{{"name", text(4096, "path below the target")},
                         {"size", integer_schema("int64", "bytes")},
                         {"sha256", text(64, "of its bytes")}}}}}};
}

/// What only our own bridge writes.
Map own_status_fields() {
    return Map{{"account", text(63, "the account that the job was submitted as")},
               {"site", text(253, "the Site whose batch system has the job")},
               {"attempt", integer_schema("int32", "how often the job was handed over")},
               {"restarts", integer_schema("int32", "how often the job was requeued")},
               {"output", streams(4096, "paths on the cluster")},
               {"tail", streams(4096, "the last 2 KiB of the output")},
               {"results", result_files()},
               {"resultsCount", integer_schema("int64", "of all files that were collected")}};
}

Tree status(bool is_ours) {
    Map fields{
        {"status",
         words({"Pending", "Running", "Succeeded", "Failed", "Unknown"},
               "the phase, in the words that other tools wait for")},
        {"jobId", text(256, "the batch system's own id")},
        {"submitToken", text(253, "by which the batch job is found again")},
        {"state", text(64, "the batch system's own word")},
        {"reason", text(1024, "why it is in this state")},
        {"exitCode", integer_schema("int32", "of the job, when it has ended")},
        {"signal", integer_schema("int32", "that ended the job, or 0")},
        {"startTime", time("when the job began to run")},
        {"endTime", time("when it ended")},
        {"observedGeneration", integer_schema("int64", "of the spec that this status speaks of")},
        {"conditions", conditions()}};
    if (is_ours) {
        for (auto& field : own_status_fields()) {
            fields.push_back(std::move(field));
        }
    }
    return Map{{"type", "object"}, {"properties", std::move(fields)}};
}

Tree column(std::string_view name, std::string_view type, std::string_view path) {
    return Map{{"name", name}, {"type", type}, {"jsonPath", path}};
}

/// Shown by `kubectl get -o wide` only.
Tree wide_column(std::string_view name, std::string_view path) {
    return Map{
        {"name", name}, {"type", "string"}, {"jsonPath", path}, {"priority", std::int64_t{1}}};
}

Tree version(const Row& row, bool is_ours) {
    Tree::List columns{column("Status", "string", ".status.status"),
                       column("State", "string", ".status.state"),
                       column("Job", "string", ".status.jobId"),
                       column("Exit", "integer", ".status.exitCode"),
                       column("Age", "date", ".metadata.creationTimestamp")};
    Map version{{"name", "v1alpha1"},
                {"served", true},
                {"storage", true},
                {"subresources", Map{{"status", Map{}}}}};
    if (is_ours) {
        columns.push_back(wide_column("Queue", ".spec.queue"));
        columns.push_back(wide_column("Account", ".status.account"));
        columns.push_back(wide_column("Reason", ".status.reason"));
        version.emplace_back(
            "selectableFields",
            Tree::List{Map{{"jsonPath", ".status.state"}}, Map{{"jsonPath", ".spec.queue"}}});
    }
    version.emplace_back("additionalPrinterColumns", std::move(columns));
    version.emplace_back(
        "schema",
        Map{{"openAPIV3Schema",
             Map{{"type", "object"},
                 {"description", fmt::format("A batch job for {}.", row.system)},
                 {"required", Tree::List{"spec"}},
                 {"properties", Map{{"spec", spec(row, is_ours)}, {"status", status(is_ours)}}}}}});
    return version;
}

bool is_group(std::string_view text) {
    return text.find('.') != std::string_view::npos && text.size() <= 253 &&
           is_api_version(std::string(text) + "/v1");
}

void add_fields(const Tree& schema, const std::string& path, std::vector<std::string>& fields) {
    const Map* entries = std::get_if<Map>(&schema.held());
    for (const auto& [key, value] : entries != nullptr ? *entries : Map()) {
        const Map* properties = key == "properties" ? std::get_if<Map>(&value.held()) : nullptr;
        for (const auto& [name, inner] : properties != nullptr ? *properties : Map()) {
            std::string field = path;
            field.append(".").append(name);
            fields.push_back(field);
            add_fields(inner, field, fields);
        }
        if (key == "items") {
            add_fields(value, path, fields);
        }
    }
}

/// The kind that was most likely meant.
std::string nearest_crd(std::string_view kind) {
    const std::vector<std::string> names = crd_names();
    const std::string near =
        nearest(kind, std::vector<std::string_view>(names.begin(), names.end()));
    return near.empty() ? names.front() : near;
}

} // namespace

Result<std::string> crd(const std::string& kind, const std::string& group) {
    const auto* row = std::ranges::find(kRows, kind, &Row::kind);
    if (row == kRows.end()) {
        return fail(ErrorCode::kUsage,
                    problem("crd-unknown",
                            fmt::format("there is no definition of a kind '{}'", printable(kind))),
                    fmt::format("known are {}; names are case-sensitive{}",
                                fmt::join(crd_names(), ", "),
                                kind == "MirrorJob" || kind == "Pod"
                                    ? "; a " + kind + " is made of kinds that every cluster has"
                                    : ""),
                    kind == "MirrorJob" || kind == "Pod"
                        ? "install nothing: apply what `cybelectl kube render JOB --kind " + kind +
                              "` prints"
                        : fmt::format("write `{}`", nearest_crd(kind)));
    }
    const std::string in_group = group.empty() ? std::string(kOwnGroup) : group;
    if (!is_group(in_group)) {
        return fail(ErrorCode::kUsage,
                    problem("api-group-malformed",
                            fmt::format("'{}' is not an API group", printable(in_group))),
                    "a group is a domain name in lower case",
                    "write for example --group wlm.sylabs.io");
    }
    const std::string plural = std::string(row->singular) + "s";
    return write_yaml(Map{{"apiVersion", "apiextensions.k8s.io/v1"},
                          {"kind", "CustomResourceDefinition"},
                          {"metadata", Map{{"name", fmt::format("{}.{}", plural, in_group)}}},
                          {"spec",
                           Map{{"group", in_group},
                               {"scope", "Namespaced"},
                               {"names",
                                Map{{"kind", row->kind},
                                    {"listKind", std::string(row->kind) + "List"},
                                    {"plural", plural},
                                    {"singular", row->singular},
                                    {"shortNames", Tree::List{row->short_name}},
                                    {"categories", Tree::List{"all", "hpc"}}}},
                               {"versions", Tree::List{version(*row, in_group == kOwnGroup)}}}}});
}

std::vector<std::string> crd_fields(std::string_view kind) {
    std::vector<std::string> fields;
    for (const Row& row : kRows) {
        if (row.kind == kind) {
            add_fields(spec(row, true), "spec", fields);
            add_fields(status(true), "status", fields);
        }
    }
    return fields;
}

std::vector<std::string> crd_names() {
    std::vector<std::string> names;
    names.reserve(std::size(kRows));
    for (const Row& row : kRows) {
        names.emplace_back(row.kind);
    }
    return names;
}

} // namespace cybele::kubernetes
