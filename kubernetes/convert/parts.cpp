// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/convert/parts.hpp"

#include "support/document.hpp"
#include "support/find.hpp"
#include "support/name.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace cybele::kubernetes {
namespace {

struct Suffix {
    std::string_view text;
    std::uint64_t factor; ///< of thousandths
};
constexpr std::array<Suffix, 11> kSuffixes{{{"Ki", 1000ULL << 10U},
                                            {"Mi", 1000ULL << 20U},
                                            {"Gi", 1000ULL << 30U},
                                            {"Ti", 1000ULL << 40U},
                                            {"m", 1},
                                            {"k", 1000ULL * 1000},
                                            {"M", 1000ULL * 1000 * 1000},
                                            {"G", 1000ULL * 1000 * 1000 * 1000},
                                            {"T", 1000ULL * 1000 * 1000 * 1000 * 1000},
                                            {"e3", 1000ULL * 1000},
                                            {"", 1000}}};

/// The ConfigMap of a name in the same file.
const yaml::Node* find_config_map(const Conversion& conversion, const std::string& name) {
    for (const yaml::Node& object : conversion.objects) {
        if (text_at(object, {"kind"}) == "ConfigMap" &&
            text_at(object, {"metadata", "name"}) == name) {
            return object.find("data");
        }
    }
    return nullptr;
}

/// The value of a variable, or nothing where it is told as left.
std::optional<std::string> environment_value(Conversion& conversion, const yaml::Node& entry) {
    if (const auto* value = entry.find("value")) {
        return value->scalar;
    }
    const auto* from = entry.find("valueFrom");
    const auto* reference = from == nullptr ? nullptr : from->find("configMapKeyRef");
    if (reference != nullptr) {
        const auto* map = find_config_map(conversion, text_at(*reference, {"name"}));
        const auto* value = map == nullptr ? nullptr : map->find(text_at(*reference, {"key"}));
        if (value != nullptr) {
            return value->scalar;
        }
        conversion.leave(entry.mark,
                         fmt::format("the variable '{}'", printable(text_at(entry, {"name"}))),
                         "its ConfigMap is not in this file",
                         "write its value under `environment`");
        return std::nullopt;
    }
    const bool is_secret = from != nullptr && from->find("secretKeyRef") != nullptr;
    conversion.leave(entry.mark,
                     fmt::format("the variable '{}'", printable(text_at(entry, {"name"}))),
                     is_secret ? "its value is a Secret's" : "Kubernetes makes its value",
                     is_secret ? "put the secret into a file of yours, and write `@file:PATH`"
                               : "write its value under `environment`");
    return std::nullopt;
}

void add_variable(Conversion& conversion,
                  const std::string& name,
                  const std::string& value,
                  yaml::Mark mark) {
    if (!is_variable_name(name)) {
        conversion.leave(mark,
                         fmt::format("the variable '{}'", printable(name)),
                         "it is not a valid name in a shell",
                         "rename it");
    } else if (value.find_first_of("\n\r") != std::string::npos ||
               value.find('\0') != std::string::npos) {
        conversion.leave(mark,
                         fmt::format("the variable '{}'", printable(name)),
                         "its value has several lines",
                         "let the program read it from a file");
    } else {
        conversion.variables[name] = value;
    }
}

/// Whole ConfigMaps as variables.
void add_sources(Conversion& conversion) {
    const auto* sources = conversion.container->find("envFrom");
    for (const auto& one : sources == nullptr ? std::vector<yaml::Node>{} : sources->items) {
        const auto* map = find_config_map(conversion, text_at(one, {"configMapRef", "name"}));
        if (map == nullptr) {
            conversion.leave(one.mark,
                             "variables of `envFrom`",
                             one.find("secretRef") != nullptr ? "they are a Secret's"
                                                              : "the ConfigMap is not in this file",
                             "write them under `environment`, secrets as `@file:PATH`");
            continue;
        }
        for (const auto& [key, value] : map->entries) {
            add_variable(conversion, text_at(one, {"prefix"}) + key.scalar, value.scalar, one.mark);
        }
    }
}

/// `$(NAME)` of a known variable is its value, `$$` a `$`, as the kubelet reads words.
std::string expanded(const Conversion& conversion, std::string_view text) {
    std::string result;
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] == '$' && at + 1 < text.size() && text[at + 1] == '$') {
            result += text[at++];
            continue;
        }
        const auto end = text.find(')', at);
        if (text[at] == '$' && at + 1 < text.size() && text[at + 1] == '(' &&
            end != std::string_view::npos) {
            const auto found =
                conversion.variables.find(std::string(text.substr(at + 2, end - at - 2)));
            if (found != conversion.variables.end()) {
                result += found->second;
                at = end;
                continue;
            }
        }
        result += text[at];
    }
    return result;
}

void leave_volume(Conversion& conversion, const yaml::Node& mount, const yaml::Node* volume) {
    struct VolumeKind {
        std::string_view key;
        std::string_view because;
        std::string_view help;
    };
    constexpr std::array<VolumeKind, 4> kKinds{
        {{"emptyDir", "a batch job has its node's scratch instead", "let the program use $TMPDIR"},
         {"configMap",
          "a batch job has no ConfigMaps",
          "put the files next to the Job, and bind them"},
         {"secret", "a batch job has no Secrets", "put it into a file of yours, and bind it"},
         {"persistentVolumeClaim",
          "the cluster's nodes do not mount it",
          "bind the folder that holds the data on the cluster"}}};
    std::string because = "the pod has no such volume";
    std::string help = "bind a folder of the cluster";
    for (const VolumeKind& kind : kKinds) {
        if (volume != nullptr && volume->find(kind.key) != nullptr) {
            because = kind.because;
            help = kind.help;
        }
    }
    conversion.leave(mount.mark,
                     fmt::format("the volume '{}'", printable(text_at(mount, {"name"}))),
                     because,
                     help);
}

std::uint64_t rounded_up(std::uint64_t value, std::uint64_t unit) {
    return value / unit + (value % unit == 0 ? 0 : 1);
}

} // namespace

void Conversion::leave(yaml::Mark mark,
                       const std::string& what,
                       std::string because,
                       std::string help,
                       Effect effect) {
    Fault fault = document::fault_at(
        source,
        mark,
        effect == Effect::kNone ? problem("pod-field-without-effect", "not converted: " + what)
                                : problem("pod-field-not-carried", "not converted: " + what),
        std::move(because),
        std::move(help));
    fault.is_warning = true;
    left.push_back(std::move(fault));
}

std::optional<std::uint64_t> quantity_in_thousandths(std::string_view text) {
    const auto digits = std::min(text.find_first_not_of("0123456789."), text.size());
    const auto number = text.substr(0, digits);
    const auto* suffix = std::ranges::find(kSuffixes, text.substr(digits), &Suffix::text);
    const auto point = number.find('.');
    const auto whole = number.substr(0, point);
    if (suffix == kSuffixes.end() || whole.empty() || whole.size() > 12 ||
        (point != std::string_view::npos &&
         number.find('.', point + 1) != std::string_view::npos)) {
        return std::nullopt;
    }
    std::uint64_t value = 0;
    for (const char digit : whole) {
        value = value * 10 + static_cast<std::uint64_t>(digit - '0');
    }
    std::uint64_t limit = ~std::uint64_t{0} / suffix->factor;
    if (value >= limit) {
        return std::nullopt;
    }
    value *= suffix->factor;
    std::uint64_t part = suffix->factor;
    for (std::size_t at = point; at != std::string_view::npos && at + 1 < number.size(); ++at) {
        const auto digit = static_cast<std::uint64_t>(number[at + 1] - '0');
        value += rounded_up(part * digit, 10);
        part = part / 10;
    }
    return value;
}

namespace {

/// A security context that only takes rights away changes nothing: a batch job has no more.
bool takes_rights_away(const yaml::Node& context) {
    constexpr std::array<std::string_view, 6> kLess{"runAsNonRoot",
                                                    "seccompProfile",
                                                    "allowPrivilegeEscalation",
                                                    "readOnlyRootFilesystem",
                                                    "capabilities",
                                                    "privileged"};
    return std::ranges::all_of(context.entries, [&](const auto& entry) {
        const std::string& key = entry.first.scalar;
        const bool is_on = entry.second.scalar == "true";
        return contains(kLess, key) && !(key == "privileged" && is_on) &&
               (key != "capabilities" || entry.second.find("add") == nullptr);
    });
}

Effect effect_of(const LeftField& row, const yaml::Node& value) {
    const bool is_harmless = row.name == "securityContext" && takes_rights_away(value);
    return is_harmless ? Effect::kNone : row.effect;
}

} // namespace

void leave_others(Conversion& conversion,
                  const yaml::Node& map,
                  std::initializer_list<std::string_view> carried,
                  std::span<const LeftField> known) {
    for (const auto& [key, value] : map.entries) {
        if (contains(carried, key.scalar)) {
            continue;
        }
        const auto row = std::ranges::find(known, key.scalar, &LeftField::name);
        conversion.leave(key.mark,
                         fmt::format("`{}`", printable(key.scalar)),
                         row == known.end() ? "a batch job has nothing like it"
                                            : std::string(row->because),
                         row == known.end() ? "drop it" : std::string(row->help),
                         row == known.end() ? Effect::kNeeded : effect_of(*row, value));
    }
}

Tree::Map convert_environment(Conversion& conversion) {
    add_sources(conversion);
    const auto* list = conversion.container->find("env");
    for (const auto& entry : list == nullptr ? std::vector<yaml::Node>{} : list->items) {
        if (const auto value = environment_value(conversion, entry)) {
            add_variable(
                conversion, text_at(entry, {"name"}), expanded(conversion, *value), entry.mark);
        }
    }
    Tree::Map map;
    for (const auto& [name, value] : conversion.variables) {
        map.emplace_back(name, value);
    }
    return map;
}

Tree::List convert_volumes(Conversion& conversion) {
    Tree::List binds;
    const auto* mounts = conversion.container->find("volumeMounts");
    const auto* volumes = conversion.pod->find("volumes");
    for (const auto& mount : mounts == nullptr ? std::vector<yaml::Node>{} : mounts->items) {
        const yaml::Node* volume = nullptr;
        for (std::size_t at = 0; volumes != nullptr && at < volumes->items.size(); ++at) {
            if (text_at(volumes->items[at], {"name"}) == text_at(mount, {"name"})) {
                volume = &volumes->items[at];
            }
        }
        const auto* path = volume == nullptr ? nullptr : find_path(*volume, {"hostPath", "path"});
        if (path == nullptr) {
            leave_volume(conversion, mount, volume);
            continue;
        }
        std::string bind = path->scalar;
        const std::string below = text_at(mount, {"subPath"});
        bind += below.empty() ? "" : "/" + below;
        bind += ":" + text_at(mount, {"mountPath"});
        bind += text_at(mount, {"readOnly"}) == "true" ? ":ro" : "";
        binds.emplace_back(bind);
    }
    return binds;
}

Tree::Map convert_resources(Conversion& conversion) {
    Tree::Map made;
    const auto* resources = conversion.container->find("resources");
    std::map<std::string, const yaml::Node*> asked;
    for (const char* level : {"requests", "limits"}) { // a limit is what the job must not exceed
        const auto* map = resources == nullptr ? nullptr : resources->find(level);
        for (std::size_t at = 0; map != nullptr && at < map->entries.size(); ++at) {
            asked[map->entries[at].first.scalar] = &map->entries[at].second;
        }
    }
    for (const auto& [name, node] : asked) {
        const auto amount = quantity_in_thousandths(node->scalar);
        if (amount && name == "cpu") {
            made.emplace_back(
                "cpus-per-task",
                static_cast<std::int64_t>(std::max<std::uint64_t>(rounded_up(*amount, 1000), 1)));
        } else if (amount && name == "memory") {
            made.emplace_back("memory-per-node",
                              fmt::format("{} MiB", rounded_up(*amount, 1000ULL << 20U)));
        } else if (amount && name.ends_with("/gpu")) {
            made.emplace_back("gpus-per-node",
                              static_cast<std::int64_t>(rounded_up(*amount, 1000)));
        } else {
            conversion.leave(node->mark,
                             fmt::format("`{}: {}`", printable(name), printable(node->scalar)),
                             "a Job asks for cores, memory and GPUs",
                             "ask the site for a queue or a feature that has it");
        }
    }
    return made;
}

Tree::List convert_command(Conversion& conversion) {
    Tree::List words;
    const auto* command = conversion.container->find("command");
    const auto* arguments = conversion.container->find("args");
    if (command == nullptr && arguments == nullptr) {
        return words;
    }
    if (command == nullptr) {
        words.emplace_back("/.singularity.d/runscript"); // the image's own entry point
    }
    for (const auto* list : {command, arguments}) {
        for (std::size_t at = 0; list != nullptr && at < list->items.size(); ++at) {
            words.emplace_back(expanded(conversion, list->items[at].scalar));
        }
    }
    return words;
}

} // namespace cybele::kubernetes
