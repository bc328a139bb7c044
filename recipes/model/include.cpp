// SPDX-License-Identifier: Apache-2.0
#include "recipes/model/language.hpp"
#include "recipes/model/recipe_fields.hpp"
#include "recipes/model/tree.hpp"
#include "support/document_help.hpp"
#include "support/file.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <set>

namespace cybele::recipes {
namespace {

namespace fs = std::filesystem;
using document::fault_at;
using yaml::Node;
using Kind = yaml::Node::Kind;

/// A relative path of an included Recipe, seen from the including one.
void rebase(Node* node, const fs::path& folder) {
    if (node == nullptr || node->kind != Kind::kScalar || node->scalar.empty() ||
        node->scalar.front() == '/' || node->scalar.front() == '~' ||
        node->scalar.find("://") != std::string::npos || node->scalar.starts_with("store:")) {
        return;
    }
    node->scalar = (folder / node->scalar).lexically_normal().native();
}

Node* child(Node& map, std::string_view key) {
    for (auto& entry : map.entries) {
        if (entry.first.scalar == key) {
            return &entry.second;
        }
    }
    return nullptr;
}

/// All paths of the host below a map that has fields of a stage.
void rebase_fields(Node& map, const fs::path& folder) {
    if (Node* files = child(map, "files")) {
        for (auto& file : files->items) {
            if (file.find("stage") == nullptr) {
                rebase(child(file, "from"), folder);
            }
        }
    }
    if (Node* base = child(map, "base")) {
        rebase(child(*base, "image"), folder);
        rebase(child(*base, "key"), folder);
    }
    if (Node* mpi = child(map, "mpi")) {
        rebase(child(*mpi, "host"), folder);
    }
    for (const auto* name : {"stages", "when"}) {
        if (Node* list = child(map, name)) {
            for (auto& item : list->items) {
                rebase_fields(item, folder);
            }
        }
    }
    if (Node* apps = child(map, "apps")) {
        for (auto& entry : apps->entries) {
            rebase_fields(entry.second, folder);
        }
    }
}

class Includes {
public:
    explicit Includes(yaml::Source& source) : source_(source) {}

    /// The merged tree of a file whose own tree is `node`.
    Result<Node> merged(Node node, const fs::path& file) {
        way_.push_back(identity(file));
        Node* list = child(node, "include");
        Node result;
        result.kind = Kind::kMapping;
        result.mark = node.mark;
        Faults faults;
        const std::vector<Node> items = list != nullptr ? list->items : std::vector<Node>{};
        for (const auto& item : items) {
            if (item.kind != Kind::kScalar || item.scalar.empty()) {
                continue; // the reader tells it
            }
            auto one = included(item, file);
            if (!one) {
                faults.add(one.error());
                continue;
            }
            const document::Table& table = *recipe_kind().table;
            merge(table, result, std::move(*one));
        }
        way_.pop_back();
        if (faults.has_errors()) {
            return fail(faults.take());
        }
        // what is no list, or holds no texts, stays for the reader to refuse
        if (!items.empty() && std::ranges::all_of(items, [](const Node& item) {
                return item.kind == Kind::kScalar && !item.scalar.empty();
            })) {
            remove_key(node, "include");
        }
        return finished(std::move(result), std::move(node));
    }

private:
    static std::string identity(const fs::path& file) {
        std::error_code error;
        const fs::path whole = fs::weakly_canonical(file, error);
        return error ? file.lexically_normal().native() : whole.native();
    }

    /// `kind` and `format` come from the including file, and first.
    static Node finished(Node included, Node own) {
        if (included.entries.empty()) {
            return own;
        }
        remove_key(included, "kind");
        remove_key(included, "format");
        Node result;
        result.kind = Kind::kMapping;
        result.mark = own.mark;
        for (const auto* head : {"kind", "format"}) {
            for (auto& entry : own.entries) {
                if (entry.first.scalar == head) {
                    result.entries.push_back(entry);
                }
            }
            remove_key(own, head);
        }
        std::move(
            included.entries.begin(), included.entries.end(), std::back_inserter(result.entries));
        merge(*recipe_kind().table, result, std::move(own));
        return result;
    }

    Result<Node> included(const Node& item, const fs::path& file) {
        const fs::path folder = file.parent_path();
        const fs::path path = (folder / item.scalar).lexically_normal();
        const std::string own = identity(path);
        if (contains(way_, own)) {
            return fail(cycle(item, own));
        }
        if (!done_.insert(own).second) {
            Node nothing;
            nothing.kind = Kind::kMapping;
            return nothing; // it is merged already
        }
        auto text = read_file(path);
        if (!text) {
            const Fault& cause = text.error().faults().front();
            const bool is_here = cause.code == ErrorCode::kEnvironment;
            Fault fault = fault_at(
                source_,
                item.mark,
                problem("include-unreadable",
                        "the included Recipe '" + printable(item.scalar) + "' cannot be read"),
                cause.because.empty() ? cause.message : cause.because,
                is_here ? cause.help : "name a file, relative to the Recipe's folder");
            fault.code = is_here ? cause.code : fault.code;
            return fail(std::move(fault));
        }
        CYBELE_TRY(yaml::Document document, yaml::parse(std::move(*text), path.native()));
        if (auto head = document::Reading::open(recipe_kind(), document); !head) {
            return fail(std::move(head).error());
        }
        set_file(document.root, source_.add(document.source));
        CYBELE_TRY(Node node, merged(std::move(document.root), path));
        remove_key(node, "kind");
        remove_key(node, "format");
        const fs::path relative = fs::path(item.scalar).parent_path();
        if (!relative.empty() && relative != ".") {
            rebase_fields(node, relative);
        }
        return node;
    }

    Fault cycle(const Node& item, const std::string& again) {
        std::string way;
        bool is_in = false;
        for (const auto& file : way_) {
            is_in = is_in || file == again;
            if (is_in) {
                way += fs::path(file).filename().native() + " → ";
            }
        }
        return fault_at(source_,
                        item.mark,
                        problem("include-cycle", "the Recipe includes itself"),
                        way + fs::path(again).filename().native(),
                        "remove this `include`");
    }

    yaml::Source& source_;
    std::vector<std::string> way_; ///< from the outermost file to the one being read
    std::set<std::string> done_;
};

} // namespace

Result<yaml::Document> read_merged(std::string text, const fs::path& file) {
    if (auto fault = document::fault_of_file(recipe_kind(), text, file.native())) {
        return fail(Error(std::move(*fault)));
    }
    CYBELE_TRY(yaml::Document document, yaml::parse(std::move(text), file.native()));
    if (document.root.find("include") == nullptr) {
        return document;
    }
    CYBELE_TRY(document.root, Includes(document.source).merged(std::move(document.root), file));
    return document;
}

} // namespace cybele::recipes
