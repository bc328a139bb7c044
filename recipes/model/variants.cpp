// SPDX-License-Identifier: Apache-2.0
#include "recipes/model/language.hpp"
#include "support/characters.hpp"
#include "support/document_substitute.hpp"
#include "support/find.hpp"
#include "support/name.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <set>

namespace cybele::recipes {
namespace {

using document::fault_at;
using yaml::Node;
using Kind = yaml::Node::Kind;

constexpr std::string_view kExcludeKey = "exclude";
constexpr std::size_t kMostVariants = 1000;

/// A key of the matrix with its values, as long as they are texts.
struct Axis {
    std::string name;
    std::vector<std::string> values;
};

std::vector<Axis> axes_of(const Node& matrix) {
    std::vector<Axis> axes;
    for (const auto& [key, list] : matrix.entries) {
        if (key.scalar == kExcludeKey) {
            continue;
        }
        Axis axis{key.scalar, {}};
        for (const auto& item : list.items) {
            axis.values.push_back(item.scalar);
        }
        axes.push_back(std::move(axis));
    }
    std::ranges::sort(axes, {}, &Axis::name);
    return axes;
}

std::string name_part(const std::string& value) {
    std::string part;
    for (const char c : value) {
        part += is_alphanumeric(c) ? to_lower(c) : '-';
    }
    return part;
}

class Matrix {
public:
    Matrix(const yaml::Document& document, const Node& matrix, Faults& faults)
        : document_(document), matrix_(matrix), faults_(faults), axes_(axes_of(matrix)) {}

    std::vector<Variant> all(const std::string& name) {
        if (!is_sound()) {
            return {};
        }
        check_excludes();
        std::vector<Variant> variants{{name, {}}};
        for (const auto& axis : axes_) {
            std::vector<Variant> longer;
            for (const auto& variant : variants) {
                for (const auto& value : axis.values) {
                    Variant next = variant;
                    next.name += "-" + name_part(value);
                    next.values[axis.name] = value;
                    longer.push_back(std::move(next));
                }
            }
            variants = std::move(longer);
        }
        std::erase_if(variants, [&](const Variant& variant) { return is_excluded(variant); });
        if (variants.empty()) {
            tell(matrix_.mark,
                 problem("matrix-empty", "'exclude' leaves no variant"),
                 "every combination is excluded",
                 "exclude fewer of them");
        }
        check_names(variants);
        return variants;
    }

private:
    bool is_sound() {
        std::size_t count = 1;
        for (const auto& axis : axes_) {
            const Node* list = matrix_.find(axis.name);
            if (axis.values.empty()) {
                if (list->kind == Kind::kSequence) {
                    tell(list->mark,
                         problem("matrix-without-values",
                                 "'matrix." + printable(axis.name) + "' has no values"),
                         "a matrix without values has no variants",
                         "give it one, or leave it out");
                }
                return false;
            }
            count *= axis.values.size();
            if (count > kMostVariants) {
                tell(matrix_.mark,
                     problem("matrix-too-large", "the matrix has more than 1000 variants"),
                     "each would be an image",
                     "split the Recipe");
                return false;
            }
        }
        return true;
    }

    [[nodiscard]] const Axis* axis_named(std::string_view name) const {
        for (const auto& axis : axes_) {
            if (axis.name == name) {
                return &axis;
            }
        }
        return nullptr;
    }

    void check_excludes() {
        const Node* excludes = matrix_.find(kExcludeKey);
        if (excludes == nullptr) {
            return;
        }
        std::vector<std::string_view> names;
        names.reserve(axes_.size());
        for (const auto& axis : axes_) {
            names.push_back(axis.name);
        }
        for (const auto& item : excludes->items) {
            for (const auto& [key, value] : item.entries) {
                const Axis* axis = axis_named(key.scalar);
                if (axis == nullptr) {
                    const std::string near = nearest(key.scalar, names);
                    tell(key.mark,
                         problem("matrix-key-unknown",
                                 "the matrix has no '" + printable(key.scalar) + "'"),
                         "'exclude' names combinations of it",
                         near.empty() ? "remove it" : "did you mean `" + near + "`?");
                    continue;
                }
                const std::vector<std::string_view> values(axis->values.begin(),
                                                           axis->values.end());
                if (!contains(values, value.scalar)) {
                    const std::string near = nearest(value.scalar, values);
                    tell(value.mark,
                         problem("matrix-value-unknown",
                                 "'" + printable(value.scalar) + "' is not a value of 'matrix." +
                                     axis->name + "'"),
                         "so nothing would be left out",
                         near.empty() ? "remove it" : "did you mean `" + near + "`?");
                }
            }
        }
    }

    [[nodiscard]] bool is_excluded(const Variant& variant) const {
        const Node* excludes = matrix_.find(kExcludeKey);
        if (excludes == nullptr) {
            return false;
        }
        return std::ranges::any_of(excludes->items, [&](const Node& item) {
            return !item.entries.empty() &&
                   std::ranges::all_of(item.entries, [&](const auto& entry) {
                       const auto own = variant.values.find(entry.first.scalar);
                       return own != variant.values.end() && own->second == entry.second.scalar;
                   });
        });
    }

    void check_names(const std::vector<Variant>& variants) {
        std::set<std::string> names;
        for (const auto& variant : variants) {
            if (!is_name(variant.name)) {
                tell(matrix_.mark,
                     problem("variant-name",
                             "the variant's name '" + printable(variant.name) +
                                 "' is not a valid name"),
                     "it has at most 50 small letters, digits and `-`, and ends in no `-`",
                     "shorten the Recipe's name or the matrix' values");
                return;
            }
            if (!names.insert(variant.name).second) {
                tell(matrix_.mark,
                     problem("variant-duplicate",
                             "two variants have the name '" + variant.name + "'"),
                     "their images would have the same file",
                     "choose values that differ in letters and digits");
                return;
            }
        }
    }

    void tell(yaml::Mark mark, Problem problem, std::string because, std::string help) {
        faults_.add(fault_at(
            document_.source, mark, std::move(problem), std::move(because), std::move(help)));
    }

    const yaml::Document& document_;
    const Node& matrix_;
    Faults& faults_;
    std::vector<Axis> axes_;
};

} // namespace

std::vector<Variant> variants_of(const yaml::Document& document, Faults& faults) {
    const Node* name = document.root.find("name");
    const std::string own = name != nullptr ? name->scalar : std::string{};
    const Node* matrix = document.root.find("matrix");
    if (matrix == nullptr || matrix->kind != Kind::kMapping || matrix->entries.empty()) {
        return {{own, {}}};
    }
    auto variants = Matrix(document, *matrix, faults).all(own);
    if (variants.empty()) {
        variants.push_back({own, {}});
    }
    return variants;
}

Result<Values> argument_values(const yaml::Document& document, const Values& arguments) {
    Values values;
    std::vector<std::string_view> known;
    Faults faults;
    const Node* matrix = document.root.find("matrix");
    if (const Node* args = document.root.find("args")) {
        for (const auto& [key, value] : args->entries) {
            values[key.scalar] = document::unescaped(value.scalar);
            known.push_back(key.scalar);
            if (matrix != nullptr && matrix->find(key.scalar) != nullptr) {
                faults.add(fault_at(
                    document.source,
                    key.mark,
                    problem("argument-and-matrix",
                            "'" + printable(key.scalar) + "' is an argument and in 'matrix'"),
                    "`@{…}` would have two values",
                    "rename one of them"));
            }
        }
    }
    for (const auto& [name, value] : arguments) {
        if (!values.contains(name)) {
            const std::string near = nearest(name, known);
            const bool is_axis = matrix != nullptr && matrix->find(name) != nullptr;
            faults.add(Error(ErrorCode::kUsage,
                             problem("recipe-argument-unknown",
                                     "the Recipe has no argument '" + printable(name) + "'"),
                             is_axis ? "its matrix has it" : "`args` does not name it",
                             is_axis        ? "choose a variant with --variant"
                             : near.empty() ? "add it to `args`"
                                            : "did you mean `" + near + "`?"));
            continue;
        }
        values[name] = value;
    }
    if (faults.has_errors()) {
        return fail(faults.take());
    }
    return values;
}

} // namespace cybele::recipes
