// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/check/context.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace cybele::kubernetes {
namespace {

constexpr std::size_t kMapBytes = std::size_t{1} << 20U;
constexpr std::size_t kAppliedBytes = std::size_t{256} << 10U;

/// Words that end the name of a secret.
constexpr std::array<std::string_view, 8> kSecretNames{
    "password", "passwd", "token", "secret", "apikey", "api-key", "api_key", "private-key"};

bool names_secret(std::string_view name) {
    const std::string lower = text::lowered(name);
    return std::ranges::any_of(kSecretNames,
                               [&](std::string_view word) { return lower.ends_with(word); });
}

/// `password: x`, `"token": "x"`, `token=x` in a value's text; the name, or "".
std::string secret_in(std::string_view text) {
    while (!text.empty()) {
        const auto line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        if (line.find("PRIVATE KEY-----") != std::string_view::npos) {
            return "a private key";
        }
        for (auto at = line.find_first_of(":="); at != std::string_view::npos;
             at = line.find_first_of(":=", at + 1)) {
            auto name = line.substr(0, at);
            while (name.ends_with(' ') || name.ends_with('"') || name.ends_with('\'')) {
                name.remove_suffix(1);
            }
            const auto begin = name.find_last_of(" \"'{,;") + 1;
            auto value = line.substr(at + 1);
            value.remove_prefix(std::min(value.find_first_not_of(" \"'"), value.size()));
            const bool has_value = !value.empty() && std::string_view(",}$<").find(value.front()) ==
                                                         std::string_view::npos;
            if (names_secret(name.substr(begin)) && has_value) {
                return std::string(name.substr(begin));
            }
        }
    }
    return {};
}

void check_secrets(Check& check, const yaml::Node& data) {
    for (const auto& [key, value] : data.entries) {
        const std::string inner = secret_in(value.scalar);
        if (names_secret(key.scalar) && !value.scalar.empty()) {
            check.found("K25",
                        value.mark,
                        fmt::format("'{}' stands in a ConfigMap", printable(key.scalar)));
        } else if (!inner.empty()) {
            check.found("K25",
                        value.mark,
                        fmt::format("'{}' holds {}", printable(key.scalar), printable(inner)));
        }
    }
}

void check_map(Check& check, const CheckedObject& object) {
    const auto* data = find_path(object.root, {"data"});
    if (object.kind != "ConfigMap" || data == nullptr) {
        return;
    }
    std::size_t bytes = 0;
    for (const auto& [key, value] : data->entries) {
        bytes += value.scalar.size();
    }
    if (bytes > kMapBytes) {
        check.found("K17", data->mark, fmt::format("the ConfigMap's values have {} bytes", bytes));
    }
    check_secrets(check, *data);
    const auto* immutable = find_path(object.root, {"immutable"});
    const auto* name = find_path(object.root, {"metadata", "name"});
    if (immutable != nullptr && immutable->scalar == "true" && name != nullptr) {
        check.found(
            "K23", immutable->mark, fmt::format("'{}' can never change", printable(name->scalar)));
    }
}

void check_map_size(Check& check, const CheckedObject& object) {
    const bool is_large_map = object.kind == "ConfigMap" && object.bytes > kMapBytes;
    if (object.bytes > kAppliedBytes && !is_large_map) {
        check.found("K17",
                    {object.line, 1},
                    fmt::format("the object has {} bytes", object.bytes),
                    {},
                    "put the program into a file of its own, or use `kubectl create`");
    }
}

/// Labels that red-box made of UNLIMITED.
void check_unlimited(Check& check, const yaml::Node& node) {
    constexpr std::array<std::string_view, 4> kLimits{"wlm.sylabs.io/nodes",
                                                      "wlm.sylabs.io/mem-per-node",
                                                      "wlm.sylabs.io/cpu-per-node",
                                                      "wlm.sylabs.io/wall-time"};
    for (const auto& [key, value] : node.entries) {
        const bool is_limit = contains(kLimits, key.scalar);
        if (is_limit && (value.scalar == "-1" || value.scalar == "0")) {
            check.found("K24",
                        value.mark,
                        fmt::format("`{}: {}` stands for UNLIMITED",
                                    printable(key.scalar),
                                    printable(value.scalar)));
        }
        check_unlimited(check, value);
    }
    for (const auto& item : node.items) {
        check_unlimited(check, item);
    }
}

} // namespace

void check_maps(Check& check) {
    for (const CheckedObject& object : check.objects) {
        check_map(check, object);
        check_map_size(check, object);
        check_unlimited(check, object.root);
    }
}

} // namespace cybele::kubernetes
