// SPDX-License-Identifier: Apache-2.0
#include "recipes/forms/words.hpp"
#include "recipes/import/import.hpp"
#include "recipes/import/needs_blocks.hpp"
#include "recipes/tables/tables.hpp"
#include "support/name.hpp"
#include "support/quote.hpp"

#include <algorithm>

namespace cybele::recipes {
namespace {

using yaml::Node;
using Kind = Node::Kind;

class NeedsFile {
public:
    NeedsFile(const ImportRequest& request, Ledger& ledger, Draft& draft)
        : request_(request), ledger_(ledger), draft_(draft) {}

    void read(const Node& root) {
        if (root.kind == Kind::kSequence) {
            list(root);
        } else {
            for (const auto& entry : root.entries) {
                field(entry);
            }
            if (root.find("blocks") == nullptr) {
                ledger_.refuse(root.mark,
                               {"there is no 'blocks'",
                                "it lists the building blocks",
                                "add `blocks: [gnu, openmpi]`"});
            }
        }
        Blocks blocks(request_, ledger_, draft_);
        for (const auto& block : blocks_) {
            blocks.carry(block);
        }
        blocks.place();
        remark_unlocked(ledger_, root.mark, draft_.packages);
    }

private:
    void field(const yaml::Entry& entry) {
        const auto& [key, value] = entry;
        if (key.scalar == "name") {
            carry_name(ledger_, entry, draft_);
        } else if (key.scalar == "base") {
            std::string help;
            if (!is_text_line(value.scalar) || !image_reference_fault(value.scalar, help).empty()) {
                ledger_.refuse(value.mark,
                               {"'base' names no distribution and no image",
                                "it is what the image begins with",
                                "write for example `base: debian:12`"});
                return;
            }
            set_base(draft_, value.scalar);
            ledger_.carry(lines_of_entry(entry));
        } else if (key.scalar == "blocks") {
            ledger_.carry({key.mark.line, key.mark.line});
            list(value);
        } else {
            constexpr std::string_view kKeys[] = {"name", "base", "blocks"};
            const std::string near = nearest(key.scalar, kKeys);
            ledger_.refuse(key.mark,
                           {"no field '" + printable(key.scalar) + "'",
                            "the file has 'name', 'base' and 'blocks'",
                            near.empty() ? "remove it" : "did you mean `" + near + "`?"});
        }
    }

    void list(const Node& node) {
        if (node.kind != Kind::kSequence) {
            ledger_.refuse(
                node.mark,
                {"'blocks' is no list", "it lists building blocks", "begin each with `- `"});
            return;
        }
        for (const auto& item : node.items) {
            if (item.kind == Kind::kScalar && !item.scalar.empty()) {
                block(item, nullptr, lines_of_node(item));
            } else if (item.kind == Kind::kMapping && item.entries.size() == 1) {
                block(
                    item.entries.front().first, &item.entries.front().second, lines_of_node(item));
            } else {
                ledger_.refuse(item.mark,
                               {"this is no building block",
                                "a block is a name, or a name with a map of options",
                                "write `- openmpi` or `- openmpi: {version: 4.1.8}`"});
            }
        }
    }

    void block(const Node& name, const Node* options, Lines lines) {
        const BlockRow* row = find_block(name.scalar);
        if (row == nullptr) {
            std::vector<std::string_view> known;
            for (const auto& own : recipes::blocks()) {
                known.push_back(own.name);
            }
            const std::string near = nearest(name.scalar, known);
            ledger_.refuse(
                name.mark,
                {"no building block '" + printable(name.scalar) + "'",
                 "docs/reference/recipe-import.md lists those that are known",
                 near.empty() ? "say it in the Recipe" : "did you mean `" + near + "`?"});
            return;
        }
        if (options != nullptr && options->kind == Kind::kNull) {
            options = nullptr;
        }
        if (options != nullptr && options->kind != Kind::kMapping) {
            ledger_.refuse(options->mark,
                           {"the options of '" + name.scalar + "' are no map",
                            "each has a name and a value",
                            "write `" + name.scalar + ": {version: …}`"});
            return;
        }
        if (options == nullptr || known_options(*row, *options)) {
            blocks_.push_back({row, &name, options, lines});
        }
    }

    bool known_options(const BlockRow& row, const Node& options) {
        bool is_good = true;
        for (const auto& [key, value] : options.entries) {
            if (has_word(row.options, key.scalar) || has_word(common_options(), key.scalar)) {
                continue;
            }
            std::vector<std::string> words = words_of(row.options);
            const auto common = words_of(common_options());
            words.insert(words.end(), common.begin(), common.end());
            const std::vector<std::string_view> known(words.begin(), words.end());
            const std::string near = nearest(key.scalar, known);
            ledger_.refuse(
                key.mark,
                {"'" + std::string(row.name) + "' has no option '" + printable(key.scalar) + "'",
                 "an option that is passed over would change what is built",
                 near.empty() ? "remove it" : "did you mean `" + near + "`?"});
            is_good = false;
        }
        return is_good;
    }

    const ImportRequest& request_;
    Ledger& ledger_;
    Draft& draft_;
    std::vector<Block> blocks_;
};

} // namespace

Draft import_needs(const ImportRequest& request, const Node& root, Ledger& ledger) {
    Draft draft;
    set_base(draft, request.base);
    NeedsFile(request, ledger, draft).read(root);
    return draft;
}

} // namespace cybele::recipes
