// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/document.hpp"

#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

/// Helpers of the tests that try every field of a kind, once right and once with a wrong type.
namespace cybele::test {

inline void collect_paths(const document::Table& table,
                          const std::string& prefix,
                          std::set<std::string>& paths);

inline void
collect_shape(const document::Shape& shape, const std::string& path, std::set<std::string>& paths) {
    paths.insert(path);
    if (shape.item != nullptr) {
        collect_shape(*shape.item, path + "[0]", paths);
    }
    if (shape.table != nullptr) {
        collect_paths(*shape.table, path + ".", paths);
    }
}

/// Every path that a document of the table can have; free keys are left out.
inline void collect_paths(const document::Table& table,
                          const std::string& prefix,
                          std::set<std::string>& paths) {
    for (const document::Field* field : table.all()) {
        collect_shape(*field->shape, prefix + std::string(field->name), paths);
    }
}

inline yaml::Node* find_path(yaml::Node& root, std::string_view path) {
    yaml::Node* node = &root;
    while (!path.empty() && node != nullptr) {
        if (path.front() == '[') {
            const auto end = path.find(']');
            const auto index = std::stoul(std::string(path.substr(1, end - 1)));
            node = index < node->items.size() ? &node->items[index] : nullptr;
            path.remove_prefix(end + 1);
        } else {
            if (path.front() == '.') {
                path.remove_prefix(1);
            }
            // a key may hold dots: the longest that fits
            yaml::Node* next = nullptr;
            std::size_t length = 0;
            for (auto& [key, value] : node->entries) {
                const bool fits =
                    path.starts_with(key.scalar) && key.scalar.size() > length &&
                    (path.size() == key.scalar.size() || path[key.scalar.size()] == '.' ||
                     path[key.scalar.size()] == '[');
                if (fits) {
                    next = &value;
                    length = key.scalar.size();
                }
            }
            node = next;
            path.remove_prefix(length);
        }
    }
    return node;
}

/// Another kind of node, which no field takes in its place.
inline yaml::Node wrong_for(const yaml::Node& node) {
    yaml::Node wrong;
    wrong.mark = node.mark;
    if (node.kind == yaml::Node::Kind::kMapping) {
        wrong.kind = yaml::Node::Kind::kSequence;
        return wrong;
    }
    yaml::Node word;
    word.kind = yaml::Node::Kind::kScalar;
    word.scalar = "no-such-field";
    wrong.kind = yaml::Node::Kind::kMapping;
    wrong.entries.emplace_back(word, word);
    return wrong;
}

/// The documents are right, have every field of the kind between them, and each value replaced by
/// one of another type, or by none, is a fault at its place.
inline void check_every_field(const document::Kind& kind, const std::vector<std::string>& texts) {
    std::set<std::string> unseen;
    collect_paths(*kind.table, {}, unseen);
    for (const auto& text : texts) {
        const auto document = yaml::parse(text, "all.yaml");
        REQUIRE(document.has_value());
        auto reading = document::Reading::open(kind, *document);
        REQUIRE(reading.has_value());
        for (const auto& fault : reading->faults().all()) {
            FAIL_CHECK(fault.message << " (" << fault.because << ") at " << fault.where->text);
        }
        for (const auto& [path, mark] : reading->marks()) {
            unseen.erase(path);
            yaml::Document changed = *document;
            yaml::Node* node = find_path(changed.root, path);
            if (node == nullptr) {
                continue; // the first field of a short form
            }
            const yaml::Node right = *node;
            *node = wrong_for(right);
            auto wrong = document::Reading::open(kind, changed);
            REQUIRE(wrong.has_value());
            CHECK_MESSAGE(!wrong->is_good(path), "accepted with a wrong type: " << path);
            *node = yaml::Node{};
            node->mark = right.mark;
            auto absent = document::Reading::open(kind, changed);
            REQUIRE(absent.has_value());
            CHECK_MESSAGE(!absent->is_good(path), "accepted without a value: " << path);
        }
    }
    for (const auto& path : unseen) {
        FAIL_CHECK("no document of this test has the field " << path);
    }
}

} // namespace cybele::test
