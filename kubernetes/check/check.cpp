// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/check/check.hpp"

#include "kubernetes/check/context.hpp"
#include "kubernetes/check/rules.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

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
        const bool is_told = std::any_of(known.begin(), known.end(), [&](const lint::Finding& one) {
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

/// The rules that a comment names, by the line of which it speaks; 0 is the whole file.
std::map<std::size_t, std::set<std::string>> ignored_rules(const Check& check) {
    constexpr std::string_view kIgnore = "# cybelectl: ignore";
    std::map<std::size_t, std::set<std::string>> ignored;
    for (std::size_t index = 0; index < check.lines.size(); ++index) {
        const auto line = check.lines[index];
        const auto at = line.find(kIgnore);
        if (at == std::string_view::npos) {
            continue;
        }
        auto words = line.substr(at + kIgnore.size());
        const bool is_of_file = words.starts_with("-file");
        words.remove_prefix(is_of_file ? std::string_view("-file").size() : 0);
        const bool is_alone = line.find_first_not_of(" \t") == at;
        auto& rules = ignored[is_of_file ? 0 : index + (is_alone ? 2 : 1)];
        while (true) {
            const auto begin = words.find_first_not_of(" ,\t");
            if (begin == std::string_view::npos) {
                break;
            }
            const auto end = std::min(words.find_first_of(" ,\t", begin), words.size());
            if (const auto* rule = find_check_rule(words.substr(begin, end - begin))) {
                rules.insert(std::string(rule->id));
            }
            words.remove_prefix(end);
        }
    }
    return ignored;
}

void drop_ignored(Check& check) {
    const auto ignored = ignored_rules(check);
    const auto is_ignored = [&](const lint::Finding& finding) {
        for (const std::size_t line :
             {std::size_t{0}, finding.fault.where ? finding.fault.where->line : 0}) {
            const auto rules = ignored.find(line);
            if (rules != ignored.end() && rules->second.contains(std::string(finding.rule))) {
                return true;
            }
        }
        return false;
    };
    std::erase_if(check.findings.all(), is_ignored);
}

auto order_of(const lint::Finding& finding) {
    const auto& where = finding.fault.where;
    return std::tuple(where ? where->line : 0, where ? where->column : 0);
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
    fault.message = std::move(message);
    fault.where = source.place(mark);
    fault.because = because.empty() ? std::string(row->why) : std::move(because);
    fault.help = help.empty() ? std::string(row->fix) : std::move(help);
    fault.is_warning = row->severity != lint::Severity::kError;
    findings.add(row->id, std::move(fault));
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
    return static_cast<std::size_t>(
        std::count_if(findings.begin(), findings.end(), [&](const lint::Finding& finding) {
            return find_check_rule(finding.rule)->severity == severity;
        }));
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
    drop_ignored(check);
    report.findings = std::move(check.findings.all());
    std::stable_sort(report.findings.begin(),
                     report.findings.end(),
                     [](const lint::Finding& left, const lint::Finding& right) {
                         return order_of(left) < order_of(right);
                     });
    return report;
}

} // namespace cybele::kubernetes
