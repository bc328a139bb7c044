// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/check/check.hpp"

#include "kubernetes/check/context.hpp"
#include "kubernetes/check/rules.hpp"
#include "support/linter.hpp"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

namespace cybele::kubernetes {
namespace {

constexpr std::array<std::string_view, 3> kKindsOfBridges{
    "TorqueJob", "SlurmJob", "SlurmBridgeJob"};

bool is_same_kind(std::string_view left, std::string_view right) {
    return std::equal(
        left.begin(), left.end(), right.begin(), right.end(), [](char one, char other) {
            return (one | 0x20) == (other | 0x20);
        });
}

std::string spelled_kind(const std::string& written) {
    for (const auto kind : kKindsOfBridges) {
        if (is_same_kind(kind, written)) {
            return std::string(kind);
        }
    }
    return written;
}

/// A duplicate key and a tab have rules of their own; all else that cannot be read is K0.
void add_unreadable(Check& check, const Error& error, std::size_t first, std::size_t last) {
    for (const Fault& fault : error.faults()) {
        const yaml::Mark mark{fault.where ? fault.where->line : first,
                              fault.where ? fault.where->column : 1};
        if (fault.id == "yaml-duplicate-key") {
            check.found("K29", mark, fault.message);
            continue;
        }
        const auto& known = check.findings.all();
        const bool is_told = std::ranges::any_of(known, [&](const lint::Finding& one) {
            return one.fault.where && one.fault.where->line >= first &&
                   one.fault.where->line <= last &&
                   (one.rule == "K4" || one.rule == "K5" || one.rule == "K7" || one.rule == "K18");
        });
        if (!is_told) {
            check.found("K0", mark, fault.message, fault.because, fault.help);
        }
    }
}

void add_object(Check& check, const std::string& text, std::size_t first, std::size_t last) {
    auto document = yaml::parse(text, check.source.file());
    if (!document) {
        add_unreadable(check, document.error(), first, last);
        return;
    }
    if (document->root.kind == yaml::Node::Kind::kNull) {
        return;
    }
    CheckedObject object;
    object.kind = text_at(document->root, {"kind"});
    object.known = spelled_kind(object.kind);
    const std::string version = text_at(document->root, {"apiVersion"});
    object.group =
        version.substr(0, version.find('/') == std::string::npos ? 0 : version.find('/'));
    object.line = document->root.mark.line;
    object.bytes = text.size() - (first - 1);
    object.root = std::move(document->root);
    check.objects.push_back(std::move(object));
}

void add_script(Check& check, const CheckedObject& object, const yaml::Node* node) {
    if (node == nullptr || node->kind != yaml::Node::Kind::kScalar) {
        return;
    }
    CheckedScript script{&object, node, node->scalar, 0};
    if (!node->is_plain && node->mark.line > 0 && node->mark.line <= check.lines.size()) {
        const auto line = check.lines[node->mark.line - 1];
        const bool is_block =
            node->mark.column <= line.size() && line[node->mark.column - 1] == '|';
        script.begin = is_block ? node->mark.line + 1 : 0;
    }
    check.scripts.push_back(std::move(script));
}

/// hpc-connector's job description holds the script in JSON.
void add_mirrored(Check& check, const CheckedObject& object) {
    const auto* job = find_path(object.root, {"data", "job"});
    if (job == nullptr) {
        return;
    }
    const auto value = nlohmann::json::parse(job->scalar, nullptr, false);
    if (value.is_object() && value.contains("script") && value["script"].is_string()) {
        check.scripts.push_back({&object, job, value["script"].get<std::string>(), 0});
    }
}

void collect_scripts(Check& check) {
    for (const CheckedObject& object : check.objects) {
        add_script(check, object, find_path(object.root, {"spec", "batch"}));
        add_script(check, object, find_path(object.root, {"spec", "sbatchScript"}));
        if (object.kind == "ConfigMap") {
            add_mirrored(check, object);
        }
    }
}

} // namespace

Check::Check(std::string text, std::string file) : source(std::move(file), std::move(text)) {
    lines = lines_of(source.text());
}

void Check::found(std::string_view rule,
                  yaml::Mark mark,
                  std::string message,
                  std::string because,
                  std::string help) {
    const lint::Rule* row = find_check_rule(rule);
    Fault fault;
    fault.code = ErrorCode::kInput;
    fault.where = source.place(mark);
    fault.message = std::move(message);
    fault.because = std::move(because);
    fault.help = std::move(help);
    lint::report(findings, *row, std::move(fault));
}

yaml::Mark Check::mark_of(const CheckedScript& script, std::size_t line) {
    return script.begin == 0 || line == 0 ? script.node->mark
                                          : yaml::Mark{script.begin + line - 1, 1};
}

const yaml::Node* pod_spec(const CheckedObject& object) {
    if (object.kind == "Pod") {
        return find_path(object.root, {"spec"});
    }
    return object.kind == "Job" && object.group == "batch"
               ? find_path(object.root, {"spec", "template", "spec"})
               : nullptr;
}

void each_reference(const yaml::Node& node,
                    const std::function<void(const std::string& name, yaml::Mark mark)>& visit) {
    for (const auto& [key, value] : node.entries) {
        const bool is_named = key.scalar == "configMapKeyRef" || key.scalar == "configMapRef" ||
                              key.scalar == "secretKeyRef" || key.scalar == "secretRef" ||
                              key.scalar == "configMap";
        const bool is_secret = key.scalar == "secret";
        const auto* name = is_named    ? value.find("name")
                           : is_secret ? value.find("secretName")
                                       : nullptr;
        if (name != nullptr) {
            visit(name->scalar, name->mark);
        }
        each_reference(value, visit);
    }
    for (const auto& item : node.items) {
        each_reference(item, visit);
    }
}

std::size_t CheckReport::count(lint::Severity severity) const {
    return lint::count(findings, severity, find_check_rule);
}

CheckReport check_objects(std::string text, std::string file) {
    CheckReport report{file, {}};
    Check check(std::move(text), std::move(file));
    check_text(check);
    each_document(check.lines, [&](const std::string& part, std::size_t first, std::size_t last) {
        add_object(check, part, first, last);
    });
    collect_scripts(check);
    for (const auto judge :
         {check_scalars, check_types, check_volumes, check_pods, check_maps, check_scripts}) {
        judge(check);
    }
    report.findings = std::move(check.findings.all());
    lint::drop_ignored(report.findings, check.lines, find_check_rule);
    lint::order(report.findings);
    return report;
}

} // namespace cybele::kubernetes
