// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/check/context.hpp"
#include "kubernetes/objects/operator_reader.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"

#include <array>
#include <set>

#include <fmt/format.h>

namespace cybele::kubernetes {
namespace {

struct ScriptReader {
    std::string_view kind;
    std::string_view prefix; ///< of the directives that count
    std::array<std::string_view, 2> array;
    bool is_operator; ///< WLM-Operator reads the script too
};
constexpr std::array<ScriptReader, 3> kScriptReaders{
    {{"TorqueJob", "#PBS", {"-t", "-J"}, false},
     {"SlurmJob", "#SBATCH", {"--array", "-a"}, true},
     {"SlurmBridgeJob", "#SBATCH", {"", ""}, false}}};

const ScriptReader* reader_of(const CheckedScript& script) {
    return find_row(kScriptReaders, script.object->known, &ScriptReader::kind);
}

bool is_option(const Directive& directive, std::initializer_list<std::string_view> names) {
    return contains(names, directive.option);
}

void check_directives(Check& check, const CheckedScript& script, const ScriptReader& reader) {
    bool is_foreign_told = false;
    for (const Directive& directive : directives_of(script.text)) {
        const yaml::Mark mark = Check::mark_of(script, directive.line);
        if (directive.prefix != reader.prefix) {
            if (!is_foreign_told) {
                check.found("K28",
                            mark,
                            fmt::format("a {} does not read `{}`", reader.kind, directive.prefix));
            }
            is_foreign_told = true;
            continue;
        }
        if (directive.is_late) {
            check.found("K35",
                        mark,
                        fmt::format("`{} {}` is after a command",
                                    directive.prefix,
                                    printable(directive.option)));
            continue;
        }
        if (!directive.option.empty() && contains(reader.array, directive.option)) {
            check.found("K26", mark, fmt::format("an array in a {}", reader.kind));
        }
        const bool is_path =
            is_option(directive, {"-o", "-e", "--output", "--error", "--chdir", "-D", "-d"});
        if (is_path && directive.value.find_first_of("$~") != std::string::npos) {
            check.found(
                "K14", mark, fmt::format("'{}' is not expanded", printable(directive.value)));
        }
    }
}

std::string_view rule_of(OperatorFinding::Kind kind) {
    switch (kind) {
    case OperatorFinding::Kind::kCrash:
        return "K31";
    case OperatorFinding::Kind::kError:
        return "K32";
    case OperatorFinding::Kind::kNoAffinity:
        return "K33";
    case OperatorFinding::Kind::kMisread:
        return "K34";
    case OperatorFinding::Kind::kUnread:
        break;
    }
    return {};
}

void check_operator_script(Check& check, const CheckedScript& script) {
    for (const auto& finding : read_as_operator(script.text).findings) {
        if (const auto rule = rule_of(finding.kind); !rule.empty()) {
            check.found(rule, Check::mark_of(script, finding.line), finding.what);
        }
    }
}

/// The last value that counts of an option's names.
std::string directive_value(const std::vector<Directive>& directives,
                            std::initializer_list<std::string_view> names) {
    std::string value;
    for (const Directive& directive : directives) {
        if (!directive.is_late && is_option(directive, names)) {
            value = directive.value;
        }
    }
    return value;
}

void compare(Check& check,
             yaml::Mark mark,
             std::string_view field,
             const std::string& in_object,
             const std::string& in_script) {
    if (!in_object.empty() && !in_script.empty() && in_object != in_script) {
        check.found("K36",
                    mark,
                    fmt::format("`{}` is '{}' here and '{}' in the script",
                                field,
                                printable(in_object),
                                printable(in_script)));
    }
}

void check_selected(Check& check, const CheckedScript& script) {
    const auto directives = directives_of(script.text);
    const std::string queue = directive_value(directives, {"--partition", "-p", "-q"});
    if (const auto* field = find_path(script.object->root, {"spec", "queue"})) {
        compare(check, field->mark, "queue", field->scalar, queue);
    }
    const auto* partition =
        find_path(script.object->root, {"spec", "nodeSelector", "wlm.sylabs.io/partition"});
    if (partition != nullptr) {
        compare(check, partition->mark, "partition", partition->scalar, queue);
    }
}

/// Where the script writes: its output files and working folders, as far as directives say.
void check_script_results(Check& check, const CheckedScript& script) {
    const auto* from = find_path(script.object->root, {"spec", "results", "from"});
    if (from == nullptr || !from->scalar.starts_with('/') ||
        script.text.find(from->scalar) != std::string::npos) {
        return;
    }
    const std::string folder = from->scalar.substr(0, from->scalar.rfind('/'));
    bool knows_a_place = false;
    for (const Directive& directive : directives_of(script.text)) {
        const bool is_file = is_option(directive, {"-o", "-e", "--output", "--error"});
        const bool is_folder = is_option(directive, {"-d", "-D", "--chdir"});
        if ((!is_file && !is_folder) || !directive.value.starts_with('/')) {
            continue;
        }
        knows_a_place = true;
        const std::string place =
            is_folder ? directive.value : directive.value.substr(0, directive.value.rfind('/'));
        if (folder == place || folder.starts_with(place + "/")) {
            return;
        }
    }
    if (knows_a_place || script.text.find(folder) == std::string::npos) {
        check.found(
            "K37", from->mark, fmt::format("the script writes nothing to '{}'", printable(folder)));
    }
}

void check_script_bytes(Check& check, const CheckedScript& script) {
    if (script.text.find('\0') != std::string::npos) {
        check.found("K18", script.node->mark, "the script has a NUL");
    }
    if (script.text.find('\r') != std::string::npos) {
        check.found("K8", script.node->mark, "the script has carriage returns");
    }
}

} // namespace

void check_scripts(Check& check) {
    for (const CheckedScript& script : check.scripts) {
        check_script_bytes(check, script);
        const ScriptReader* reader = reader_of(script);
        if (reader == nullptr) {
            continue;
        }
        check_directives(check, script, *reader);
        if (reader->is_operator && !script.text.empty()) {
            check_operator_script(check, script);
        }
        check_selected(check, script);
        check_script_results(check, script);
    }
}

} // namespace cybele::kubernetes
