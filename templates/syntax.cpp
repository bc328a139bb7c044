// SPDX-License-Identifier: Apache-2.0
#include "templates/syntax.hpp"

#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <optional>

namespace cybele::templates {
namespace {

/// `{{#name}}` has the sigil '#', `{{{name}}}` has '&', `{{name}}` has ' '.
struct Tag {
    char sigil = ' ';
    std::string_view name;
    std::size_t line = 0;
};

class Parser {
public:
    Parser(const std::string& file, std::string_view text) : file_(file), rest_(text) {}

    /// Up to the end of the section that `opened` began, or of the text.
    Result<std::vector<Node>> nodes(const Tag* opened) {
        constexpr std::size_t kUsual = 8; // texts and tags of a section
        std::vector<Node> nodes;
        nodes.reserve(kUsual);
        while (true) {
            const std::string_view before = take(std::min(rest_.find("{{"), rest_.size()));
            if (!before.empty()) {
                nodes.push_back({Node::Kind::kText, before, 0, {}});
            }
            if (rest_.empty()) {
                return opened == nullptr
                           ? Result<std::vector<Node>>(std::move(nodes))
                           : wrong(opened->line,
                                   "the section '" + printable(opened->name) + "' is not closed");
            }
            CYBELE_TRY(const Tag tag, next_tag());
            if (tag.sigil == '/') {
                if (opened == nullptr || tag.name != opened->name) {
                    return wrong(tag.line, "'{{/" + printable(tag.name) + "}}' closes no section");
                }
                return nodes;
            }
            CYBELE_TRY(Node node, node_of(tag));
            nodes.push_back(std::move(node));
        }
    }

    void skip_first_line() {
        (void)take(std::min(rest_.find('\n'), rest_.size() - 1) + 1);
    }

private:
    /// The next bytes; counts their lines. A search for each new line looks at many bytes at a
    /// time.
    std::string_view take(std::size_t length) {
        const std::string_view taken = rest_.substr(0, length);
        rest_.remove_prefix(length);
        for (auto at = taken.find('\n'); at != std::string_view::npos;
             at = taken.find('\n', at + 1)) {
            ++line_;
        }
        return taken;
    }

    Result<Tag> next_tag() {
        const bool is_raw = rest_.starts_with("{{{");
        const std::string_view end = is_raw ? "}}}" : "}}";
        const std::size_t length = rest_.find(end);
        if (length == std::string_view::npos) {
            return wrong(line_, "a tag is not closed by '" + std::string(end) + "'");
        }
        const std::size_t line = line_;
        std::string_view name = take(length + end.size());
        name = name.substr(end.size(), length - end.size());
        Tag tag{is_raw ? '&' : ' ', text::trimmed(name, " \t\n"), line};
        if (!is_raw && !tag.name.empty() &&
            std::string_view("#^/!>=&").find(tag.name.front()) != std::string_view::npos) {
            tag.sigil = tag.name.front();
            tag.name = text::trimmed(tag.name.substr(1), " \t\n");
        }
        if (tag.sigil == '=' || (tag.name.empty() && tag.sigil != '!')) {
            return wrong(line,
                         tag.sigil == '=' ? "delimiters cannot be changed" : "a tag is empty");
        }
        return tag;
    }

    Result<Node> node_of(const Tag& tag) {
        switch (tag.sigil) {
        case '#':
        case '^': {
            Node node{tag.sigil == '#' ? Node::Kind::kSection : Node::Kind::kInverted,
                      tag.name,
                      tag.line,
                      {}};
            CYBELE_TRY(node.inside, nodes(&tag));
            return node;
        }
        case '>':
            return Node{Node::Kind::kPartial, tag.name, tag.line, {}};
        case '!':
            return Node{Node::Kind::kComment, tag.name, tag.line, {}};
        case '&':
            return Node{Node::Kind::kRaw, tag.name, tag.line, {}};
        default:
            return Node{Node::Kind::kWord, tag.name, tag.line, {}};
        }
    }

    [[nodiscard]] tl::unexpected<Error> wrong(std::size_t line, std::string what) const {
        return fail(
            Error(template_fault(file_, line, problem("template-syntax", std::move(what)))));
    }

    const std::string& file_;
    std::string_view rest_;
    std::size_t line_ = 1;
};

} // namespace

Fault template_fault(const std::string& file, std::size_t line, Problem problem) {
    return Fault(ErrorCode::kInput,
                 std::move(problem),
                 {},
                 "fix the template, or use the embedded one",
                 Place{file, line, line == 0 ? 0U : 1U, {}});
}

Result<std::vector<Node>> parse(const std::string& file, std::string_view text) {
    Parser parser(file, text);
    parser.skip_first_line();
    return parser.nodes(nullptr);
}

} // namespace cybele::templates
