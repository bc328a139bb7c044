// SPDX-License-Identifier: Apache-2.0
#include "recipes/model/language.hpp"
#include "recipes/model/recipe_fields.hpp"
#include "recipes/model/tree.hpp"
#include "recipes/tables/tables.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"

#include <algorithm>

namespace cybele::recipes {
namespace {

using document::fault_at;
using yaml::Node;
using Kind = yaml::Node::Kind;

class Conditions {
public:
    Conditions(yaml::Document& document, const Values& values, Faults& faults)
        : document_(document), values_(values), faults_(faults) {
        const Node* base = document.root.find("base");
        if (base == nullptr) {
            return;
        }
        if (base->kind == Kind::kScalar) {
            distribution_ = base->scalar;
        } else if (const Node* own = base->find("distribution")) {
            distribution_ = own->scalar;
        } else if (const Node* image = base->find("image")) {
            const DistributionRow* row = distribution_of_image(image->scalar);
            distribution_ = row != nullptr ? row->id : std::string_view{};
        }
        if (const Node* arch = base->find("arch")) {
            arch_ = arch->scalar;
        }
    }

    void apply() {
        const Node* list = document_.root.find("when");
        if (list == nullptr || list->kind != Kind::kSequence) {
            return;
        }
        const std::vector<Node> items = list->items;
        bool is_sound = true;
        for (const auto& item : items) {
            const Node* on = item.find("on");
            if (on == nullptr || on->kind != Kind::kMapping || on->entries.empty()) {
                is_sound = false; // the reader tells it, but for an empty one
                if (on != nullptr && on->kind == Kind::kMapping) {
                    tell(on->mark,
                         problem("condition-empty", "'on' names no condition"),
                         "it knows `distribution`, `arch`, and the names of `args` and `matrix`",
                         "name one, or write the fields at the top level");
                }
                continue;
            }
            const bool is_matching = std::ranges::count_if(on->entries, [&](const auto& entry) {
                                         return !matches(entry.first, entry.second);
                                     }) == 0;
            if (is_matching) {
                Node more = item;
                remove_key(more, "on");
                merge(*recipe_kind().table, document_.root, std::move(more));
            }
        }
        if (is_sound) {
            keep_unmatched(items);
        }
    }

private:
    /// Items that do not match stay, so that the reader checks their fields too; the others are in
    /// the tree now.
    void keep_unmatched(const std::vector<Node>& items) {
        for (auto& entry : document_.root.entries) {
            if (entry.first.scalar == "when") {
                entry.second.items.clear();
                for (const auto& item : items) {
                    const Node& on = *item.find("on");
                    const bool is_matching = std::ranges::all_of(on.entries, [&](const auto& part) {
                        return matches_quietly(part.first, part.second);
                    });
                    if (!is_matching) {
                        entry.second.items.push_back(item);
                    }
                }
            }
        }
    }

    [[nodiscard]] bool matches_quietly(const Node& key, const Node& wanted) const {
        const std::string* own = value_of(key.scalar);
        return own != nullptr && is_one_of(*own, wanted, key.scalar == "distribution");
    }

    bool matches(const Node& key, const Node& wanted) {
        if (value_of(key.scalar) == nullptr) {
            std::vector<std::string_view> known{"distribution", "arch"};
            for (const auto& [name, value] : values_) {
                known.push_back(name);
            }
            const std::string near = nearest(key.scalar, known);
            tell(key.mark,
                 problem("condition-unknown", "'on' does not know '" + printable(key.scalar) + "'"),
                 "it knows `distribution`, `arch`, and the names of `args` and `matrix`",
                 near.empty() ? "add it to `args`" : "did you mean `" + near + "`?");
            return false;
        }
        if (key.scalar == "distribution") {
            check_distributions(wanted);
        } else if (key.scalar == "arch") {
            check_archs(wanted);
        }
        return matches_quietly(key, wanted);
    }

    [[nodiscard]] const std::string* value_of(const std::string& name) const {
        if (name == "distribution") {
            return &distribution_;
        }
        if (name == "arch") {
            return &arch_;
        }
        const auto found = values_.find(name);
        return found != values_.end() ? &found->second : nullptr;
    }

    /// `debian` matches all its releases.
    static bool is_one_of(const std::string& own, const Node& wanted, bool is_distribution) {
        const auto is_same = [&](const std::string& text) {
            return text == own || (is_distribution && !own.empty() &&
                                   text == std::string_view(own).substr(0, own.find(':')));
        };
        if (wanted.kind == Kind::kScalar) {
            return is_same(wanted.scalar);
        }
        return std::ranges::any_of(wanted.items,
                                   [&](const Node& item) { return is_same(item.scalar); });
    }

    static std::vector<const Node*> texts_of(const Node& wanted) {
        std::vector<const Node*> texts;
        if (wanted.kind == Kind::kScalar) {
            texts.push_back(&wanted);
        }
        for (const auto& item : wanted.items) {
            texts.push_back(&item);
        }
        return texts;
    }

    void check_archs(const Node& wanted) {
        const std::vector<std::string_view> known(arch_words().begin(), arch_words().end());
        for (const Node* text : texts_of(wanted)) {
            if (contains(known, text->scalar)) {
                continue;
            }
            const std::string same(arch_word_of(text->scalar));
            const std::string near = same.empty() ? nearest(text->scalar, known) : same;
            tell(text->mark,
                 problem("condition-arch", "no arch '" + printable(text->scalar) + "'"),
                 "so the condition would never hold",
                 !same.empty()  ? "write `" + same + "`"
                 : near.empty() ? "it is one of amd64, arm64, ppc64el, riscv64 and s390x"
                                : "did you mean `" + near + "`?");
        }
    }

    void check_distributions(const Node& wanted) {
        for (const Node* text : texts_of(wanted)) {
            std::vector<std::string_view> known;
            for (const auto& row : distributions()) {
                known.push_back(row.id);
                known.push_back(row.name());
            }
            if (contains(known, text->scalar)) {
                continue;
            }
            const std::string near = nearest(text->scalar, known);
            tell(text->mark,
                 problem("condition-distribution",
                         "no distribution '" + printable(text->scalar) + "'"),
                 "so the condition would never hold",
                 near.empty() ? "`cybelectl recipe list --distributions` shows those that are known"
                              : "did you mean `" + near + "`?");
        }
    }

    void tell(yaml::Mark mark, Problem problem, std::string because, std::string help) {
        faults_.add(fault_at(
            document_.source, mark, std::move(problem), std::move(because), std::move(help)));
    }

    yaml::Document& document_;
    const Values& values_;
    Faults& faults_;
    std::string distribution_;
    std::string arch_ = "amd64";
};

} // namespace

void apply_conditions(yaml::Document& document, const Values& values, Faults& faults) {
    Conditions(document, values, faults).apply();
}

} // namespace cybele::recipes
