// SPDX-License-Identifier: Apache-2.0
#include "support/yaml.hpp"

#include "support/quote.hpp"

#include <algorithm>
#include <istream>
#include <optional>
#include <sstream>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

namespace cybele::yaml {

const Node* Node::find(std::string_view key) const {
    for (const auto& [name, value] : entries) {
        if (name.scalar == key) {
            return &value;
        }
    }
    return nullptr;
}

Source::Source(std::string file, std::string text)
    : file_(std::make_shared<const std::string>(std::move(file))),
      text_(std::make_shared<const std::string>(std::move(text))) {}

std::size_t Source::add(const Source& other) {
    more_.push_back(other);
    return more_.size();
}

Place Source::place(Mark mark) const {
    if (mark.file > 0 && mark.file <= more_.size()) {
        return more_[mark.file - 1].place({mark.line, mark.column});
    }
    Place place{*file_, mark.line, mark.column, {}};
    std::string_view rest = *text_;
    for (std::size_t line = 1; line < mark.line; ++line) {
        const std::size_t end = rest.find('\n');
        if (end == std::string_view::npos) {
            return place;
        }
        rest.remove_prefix(end + 1);
    }
    place.text = std::string(rest.substr(0, rest.find('\n')));
    if (!place.text.empty() && place.text.back() == '\r') {
        place.text.pop_back();
    }
    return place;
}

namespace {

constexpr std::size_t kDeepest = 64;

Mark mark_of(const YAML::Mark& mark) {
    return {static_cast<std::size_t>(std::max(mark.line, 0)) + 1,
            static_cast<std::size_t>(std::max(mark.column, 0)) + 1};
}

struct Refusal {
    Mark mark;
    std::string message;
    std::string because;
    std::string help;
};

/// Builds the tree from yaml-cpp's events, since its own tree keeps neither anchors nor tags apart.
class TreeBuilder final : public YAML::EventHandler {
public:
    void OnDocumentStart(const YAML::Mark&) override {}
    void OnDocumentEnd() override {}
    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        Node node;
        node.mark = mark_of(mark);
        check("", anchor, node.mark);
        place_node(std::move(node));
    }
    void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
        refuse_anchor(mark_of(mark));
        Node node;
        node.mark = mark_of(mark);
        place_node(std::move(node));
    }
    void OnScalar(const YAML::Mark& mark,
                  const std::string& tag,
                  YAML::anchor_t anchor,
                  const std::string& value) override {
        Node node;
        node.kind = Node::Kind::kScalar;
        node.scalar = value;
        node.is_plain = tag == "?";
        node.mark = mark_of(mark);
        last = node.is_plain ? last : node.mark;
        check(tag, anchor, node.mark);
        place_node(std::move(node));
    }
    void OnSequenceStart(const YAML::Mark& mark,
                         const std::string& tag,
                         YAML::anchor_t anchor,
                         YAML::EmitterStyle::value) override {
        open(Node::Kind::kSequence, mark, tag, anchor);
    }
    void OnSequenceEnd() override {
        close();
    }
    void OnMapStart(const YAML::Mark& mark,
                    const std::string& tag,
                    YAML::anchor_t anchor,
                    YAML::EmitterStyle::value) override {
        open(Node::Kind::kMapping, mark, tag, anchor);
    }
    void OnMapEnd() override {
        close();
    }

    Node root;
    std::vector<Refusal> refusals;
    std::optional<Mark> last; ///< of the scalars that are not plain

private:
    struct Open {
        Node node;
        Node key;
        bool has_key = false;
    };

    void
    open(Node::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
        Open entry;
        entry.node.kind = kind;
        entry.node.mark = mark_of(mark);
        check(tag, anchor, entry.node.mark);
        if (stack_.size() == kDeepest) {
            throw YAML::ParserException(mark, "nested deeper than 64 levels");
        }
        stack_.push_back(std::move(entry));
    }

    void close() {
        Node node = std::move(stack_.back().node);
        stack_.pop_back();
        place_node(std::move(node));
    }

    void place_node(Node node) {
        if (stack_.empty()) {
            root = std::move(node);
            return;
        }
        Open& parent = stack_.back();
        if (parent.node.kind == Node::Kind::kSequence) {
            parent.node.items.push_back(std::move(node));
        } else if (!parent.has_key) {
            check_key(parent.node, node);
            parent.key = std::move(node);
            parent.has_key = true;
        } else {
            parent.node.entries.push_back({std::move(parent.key), std::move(node)});
            parent.has_key = false;
        }
    }

    void check_key(const Node& mapping, const Node& key) {
        if (key.kind != Node::Kind::kScalar) {
            refusals.push_back({key.mark, "a key must be a word", "", "write `key: value`"});
        } else if (key.scalar == "<<" && key.is_plain) {
            refusals.push_back({key.mark,
                                "merge keys are not read",
                                "the document must mean the same to every reader",
                                "write the fields out"});
        } else if (mapping.find(key.scalar) != nullptr) {
            const Node* first = mapping.find(key.scalar);
            refusals.push_back({key.mark,
                                "duplicate key '" + printable(key.scalar) + "'",
                                "it stands in line " + std::to_string(first->mark.line) +
                                    " already, and readers differ on which one counts",
                                "keep one of them"});
        }
    }

    void check(const std::string& tag, YAML::anchor_t anchor, Mark mark) {
        if (anchor != 0) {
            refuse_anchor(mark);
        }
        if (!tag.empty() && tag != "?" && tag != "!") {
            refusals.push_back({mark,
                                "tags are not read: " + printable(tag),
                                "the field decides the type",
                                "remove the tag"});
        }
    }

    void refuse_anchor(Mark mark) {
        refusals.push_back({mark,
                            "anchors and aliases are not read",
                            "the document must mean the same to every reader",
                            "write the value out"});
    }

    std::vector<Open> stack_;
};

Fault fault_of(const Source& source, const Refusal& refusal) {
    Fault fault;
    fault.code = ErrorCode::kInput;
    fault.message = refusal.message;
    fault.where = source.place(refusal.mark);
    fault.because = refusal.because;
    fault.help = refusal.help;
    return fault;
}

std::size_t offset_of(std::string_view text, Mark mark) {
    std::size_t at = 0;
    for (std::size_t line = 1; line < mark.line && at < text.size(); ++line) {
        at = std::min(text.find('\n', at), text.size() - 1) + 1;
    }
    return at + mark.column - 1;
}

/// yaml-cpp takes a file's end behind a line's end for the quote that is missing, and all keys
/// before it for the value's text. Only the last quoted scalar can be so.
void check_closed(std::string_view text, TreeBuilder& builder) {
    if (!builder.last) {
        return;
    }
    std::size_t at = offset_of(text, *builder.last);
    const char quote = at < text.size() ? text[at] : '\0';
    if (quote != '"' && quote != '\'') {
        return; // a block
    }
    for (++at; at < text.size(); ++at) {
        const bool is_pair = quote == '\'' && text.substr(at, 2) == "''";
        if (text[at] == quote && !is_pair) {
            return;
        }
        // What the next character means is said by this one.
        at += is_pair || (quote == '"' && text[at] == '\\') ? 1U : 0U;
    }
    builder.refusals.push_back({*builder.last,
                                "a quote is not closed",
                                "all that follows it would be this value's text",
                                std::string("close it with `") + quote + "`"});
}

/// Remedies for what yaml-cpp says (its exceptions.h), by the beginning of its words.
struct SyntaxHelp {
    std::string_view message;
    std::string_view help;
};
constexpr SyntaxHelp kSyntaxHelp[] = {
    {"illegal map value", "put a value with `: ` in it into quotes, and one key on a line"},
    {"end of map flow", "close the `{` with `}`"},
    {"end of sequence flow", "close the `[` with `]`"},
    {"illegal flow end", "remove the bracket that closes nothing, or put the value into quotes"},
    {"end of map not found",
     "begin all keys of a map in one column, and write nothing behind a closing quote"},
    {"end of sequence not found",
     "begin all items of a list in one column, and write nothing behind a closing quote"},
    {"illegal block entry", "begin the list on a line of its own, a `- ` before each item"},
    {"illegal EOF in scalar", "close the quotes"},
    {"illegal document indicator", "close the quotes"},
    {"unknown escape character", "put it into single quotes, which keep a backslash"},
    {"illegal tab", "indent with blanks"},
    {"unknown token", "put a value that begins with `@`, `` ` `` or `%` into quotes"},
    {"the referenced anchor",
     "define the anchor before the alias, or put a value with `*` into quotes"},
};

std::string_view help_for(std::string_view message) {
    for (const SyntaxHelp& row : kSyntaxHelp) {
        if (message.starts_with(row.message)) {
            return row.help;
        }
    }
    return "look for a quote or bracket that is not closed, here and in the line before";
}

/// The tab that indents a line of the text, or nothing.
std::optional<Mark> tab_of(const Source& source, std::size_t line) {
    const std::string text = source.place({line, 1}).text;
    const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
    const std::size_t tab = text.find('\t');
    return tab < begin ? std::optional(Mark{line, tab + 1}) : std::nullopt;
}

/// What yaml-cpp refused. It says in many ways that a tab indents a line, here or before this one.
Refusal syntax_refusal(const Source& source, const YAML::Exception& error) {
    const Mark mark = mark_of(error.mark);
    auto tab = tab_of(source, mark.line);
    if (!tab && mark.line > 1) {
        tab = tab_of(source, mark.line - 1);
    }
    if (tab) {
        return {
            *tab, "a tab indents this line", "yaml is indented with blanks", "indent with blanks"};
    }
    return {mark, "not yaml: " + error.msg, "", std::string(help_for(error.msg))};
}

} // namespace

Result<Document> parse(std::string text, std::string file) {
    Document document{Source(std::move(file), std::move(text)), {}};
    const std::string& bytes = document.source.text();
    if (!is_utf8(bytes) || bytes.find('\0') != std::string::npos) {
        return fail(ErrorCode::kInput,
                    printable(document.source.file()) + " is no text",
                    "it holds bytes that are not UTF-8",
                    "check that this is the right file");
    }
    TreeBuilder builder;
    try {
        std::istringstream stream(bytes);
        YAML::Parser parser(stream);
        if (!parser.HandleNextDocument(builder)) {
            return fail(ErrorCode::kInput,
                        printable(document.source.file()) + " is empty",
                        {},
                        "begin it with `kind: …`");
        }
        TreeBuilder second;
        if (parser.HandleNextDocument(second)) {
            builder.refusals.push_back({second.root.mark,
                                        "a second document in one file",
                                        "one file holds one document",
                                        "put it into a file of its own"});
        }
    } catch (const YAML::Exception& error) {
        return fail(Error(fault_of(document.source, syntax_refusal(document.source, error))));
    }
    check_closed(bytes, builder);
    if (!builder.refusals.empty()) {
        Faults faults;
        for (const Refusal& refusal : builder.refusals) {
            faults.add(fault_of(document.source, refusal));
        }
        return fail(faults.take());
    }
    document.root = std::move(builder.root);
    return document;
}

} // namespace cybele::yaml
