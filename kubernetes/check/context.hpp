// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kubernetes/check/check.hpp"
#include "kubernetes/objects/documents.hpp"
#include "support/yaml.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What the checks share; used by this folder alone.
namespace cybele::kubernetes {

/// One document of a file.
struct CheckedObject {
    yaml::Node root;
    std::string kind;      ///< as written
    std::string known;     ///< the kind that is meant: capitals put right; else as written
    std::string group;     ///< of apiVersion; empty: Kubernetes' core
    std::size_t line = 1;  ///< where the document begins
    std::size_t bytes = 0; ///< of its text
};

/// A batch script in an object.
struct CheckedScript {
    const CheckedObject* object = nullptr;
    const yaml::Node* node = nullptr;
    std::string text;
    std::size_t begin = 0; ///< the line of the file in which it begins; 0: it stands in quotes
};

/// `#SBATCH --time=1` as option and value; `-N 2` likewise.
struct Directive {
    std::size_t line = 0; ///< of the script, from 1
    std::string_view prefix;
    std::string option;
    std::string value;
    bool is_late = false; ///< behind the first command
};
[[nodiscard]] std::vector<Directive> directives_of(std::string_view script);

class Check {
public:
    Check(std::string text, std::string file);

    /// Adds a finding with the rule's own reason and remedy, unless others are given.
    void found(std::string_view rule,
               yaml::Mark mark,
               std::string message,
               std::string because = {},
               std::string help = {});
    /// The place of a line of a script.
    [[nodiscard]] static yaml::Mark mark_of(const CheckedScript& script, std::size_t line);

    std::vector<std::string_view> lines; ///< of the file, with DOS line ends cut
    std::vector<CheckedObject> objects;
    std::vector<CheckedScript> scripts;
    lint::Findings findings;
    yaml::Source source;
};

/// The pod template of a Job, the Pod's own spec, or nothing.
[[nodiscard]] const yaml::Node* pod_spec(const CheckedObject& object);
/// Calls `visit` for each ConfigMap or Secret name that a pod refers to.
void each_reference(const yaml::Node& node,
                    const std::function<void(const std::string& name, yaml::Mark mark)>& visit);

void check_text(Check& check);    ///< K4 to K8, K18: before anything is parsed
void check_scalars(Check& check); ///< K1 to K3, K12
void check_types(Check& check);   ///< K6, K9 to K11, K43
void check_volumes(Check& check); ///< K13, K15, K16
void check_pods(Check& check);    ///< K19 to K22, K30, K40, K41
void check_maps(Check& check);    ///< K17, K23 to K25
void check_scripts(Check& check); ///< K14, K26, K28, K31 to K37, K42

} // namespace cybele::kubernetes
