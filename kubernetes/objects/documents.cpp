// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/objects/documents.hpp"

#include <algorithm>

namespace cybele::kubernetes {

std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        auto line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        if (line.ends_with('\r')) {
            line.remove_suffix(1);
        }
        lines.push_back(line);
    }
    return lines;
}

void each_document(
    const std::vector<std::string_view>& lines,
    const std::function<void(std::string text, std::size_t first, std::size_t last)>& visit) {
    std::string text;
    std::size_t first = 1;
    bool has_content = false; // besides blanks and comments
    const auto finish = [&](std::size_t last) {
        if (has_content) {
            visit(std::string(first - 1, '\n') + text, first, last);
        }
        text.clear();
        has_content = false;
        first = last + 2;
    };
    for (std::size_t index = 0; index < lines.size(); ++index) {
        const auto line = lines[index];
        if (line == "---" || line.starts_with("--- ") || line == "...") {
            finish(index);
            continue;
        }
        text += line;
        text += '\n';
        const auto begin = line.find_first_not_of(" \t");
        has_content = has_content || (begin != std::string_view::npos && line[begin] != '#');
    }
    finish(lines.size());
}

Result<std::vector<yaml::Node>> read_objects(const std::string& text, const std::string& file) {
    std::vector<yaml::Node> objects;
    Faults faults;
    each_document(lines_of(text), [&](std::string part, std::size_t, std::size_t) {
        auto document = yaml::parse(std::move(part), file);
        if (!document) {
            faults.add(document.error());
        } else if (document->root.kind != yaml::Node::Kind::kNull) {
            objects.push_back(std::move(document->root));
        }
    });
    if (faults.has_errors()) {
        return fail(faults.take());
    }
    return objects;
}

const yaml::Node* find_path(const yaml::Node& root, std::initializer_list<std::string_view> path) {
    const yaml::Node* node = &root;
    for (const auto key : path) {
        node = node == nullptr ? nullptr : node->find(key);
    }
    return node;
}

std::string text_at(const yaml::Node& root, std::initializer_list<std::string_view> path) {
    const yaml::Node* node = find_path(root, path);
    return node == nullptr ? std::string{} : node->scalar;
}

} // namespace cybele::kubernetes
