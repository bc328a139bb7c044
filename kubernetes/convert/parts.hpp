// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kubernetes/objects/documents.hpp"
#include "kubernetes/objects/yaml_tree.hpp"
#include "support/yaml.hpp"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// What the steps of a conversion share; used by this folder alone.
namespace cybele::kubernetes {

/// Whether the program itself would notice that a field is missing.
enum class Effect { kNeeded, kNone };

/// One conversion: the pod that is read, the Job that is made, what is left behind.
struct Conversion {
    yaml::Source source;
    std::vector<yaml::Node> objects; ///< of the file
    const yaml::Node* object = nullptr;
    const yaml::Node* pod = nullptr;       ///< its spec
    const yaml::Node* container = nullptr; ///< the one that becomes the program
    std::vector<Fault> left;
    std::map<std::string, std::string> variables; ///< plain ones, for `$(NAME)`

    /// Reports a field that the Job cannot carry.
    void leave(yaml::Mark mark,
               const std::string& what,
               std::string because,
               std::string help,
               Effect effect = Effect::kNeeded);
};

/// A number with Kubernetes' suffixes (m, Ki, M …) in thousandths, rounded up; nothing where it is
/// none.
[[nodiscard]] std::optional<std::uint64_t> quantity_in_thousandths(std::string_view text);

/// Tells every field of a map that is neither carried nor without meaning for a batch job.
struct LeftField {
    std::string_view name;
    std::string_view because;
    std::string_view help;
    Effect effect = Effect::kNeeded;
};
void leave_others(Conversion& conversion,
                  const yaml::Node& map,
                  std::initializer_list<std::string_view> carried,
                  std::span<const LeftField> known);

[[nodiscard]] Tree::Map convert_environment(Conversion& conversion);
[[nodiscard]] Tree::List convert_volumes(Conversion& conversion);
[[nodiscard]] Tree::Map convert_resources(Conversion& conversion);
[[nodiscard]] Tree::List convert_command(Conversion& conversion);

} // namespace cybele::kubernetes
