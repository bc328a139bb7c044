// SPDX-License-Identifier: Apache-2.0
#include "support/yaml.hpp"

#include "support/quote.hpp"
#include "support/text.hpp"
#include "support/yaml_syntax.hpp"

#include <algorithm>
#include <istream>
#include <optional>
#include <sstream>
#include <unordered_set>

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

namespace {

/// Goes from line to line of a text, so that the places of many refusals cost one walk. To a line
/// above it goes from the beginning again.
class LineWalk {
public:
    explicit LineWalk(std::string_view text) : text_(text), rest_(text) {}

    [[nodiscard]] Place place(const std::string& file, Mark mark) {
        Place place{file, mark.line, mark.column, {}};
        if (!go_to(mark.line)) {
            return place;
        }
        std::string_view rest = rest_;
        constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF"; // no column counts it
        if (mark.line <= 1 && rest.starts_with(kByteOrderMark)) {
            rest.remove_prefix(kByteOrderMark.size());
        }
        place.text = std::string(rest.substr(0, rest.find('\n')));
        if (!place.text.empty() && place.text.back() == '\r') {
            place.text.pop_back();
        }
        return place;
    }

private:
    bool go_to(std::size_t line) {
        if (line < line_) {
            rest_ = text_;
            line_ = 1;
        }
        for (; line_ < line; ++line_) {
            const std::size_t end = rest_.find('\n');
            if (end == std::string_view::npos) {
                return false;
            }
            rest_.remove_prefix(end + 1);
        }
        return true;
    }

    std::string_view text_;
    std::string_view rest_; ///< from the line on
    std::size_t line_ = 1;
};

} // namespace

Place Source::place(Mark mark) const {
    if (mark.file > 0 && mark.file <= more_.size()) {
        return more_[mark.file - 1].place({mark.line, mark.column});
    }
    return LineWalk(*text_).place(*file_, mark);
}

namespace {

constexpr std::size_t kDeepest = 64;

Mark mark_of(const YAML::Mark& mark) {
    return {static_cast<std::size_t>(std::max(mark.line, 0)) + 1,
            static_cast<std::size_t>(std::max(mark.column, 0)) + 1};
}

/// Builds the tree from yaml-cpp's events, since its own tree keeps neither anchors nor tags apart.
class TreeBuilder final : public YAML::EventHandler {
public:
    explicit TreeBuilder(std::string_view text) : text_(text) {}
    void OnDocumentStart(const YAML::Mark&) override {}
    void OnDocumentEnd() override {}
    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        Node node;
        node.mark = mark_of(mark);
        check("", anchor, node.mark);
        place_node(std::move(node));
    }
    void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
        const std::string word = word_at(text_, mark_of(mark));
        refuse_anchor(mark_of(mark), "write the value out in place of `" + word + "`");
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

    /// The list or map that was begun last and has no end yet.
    [[nodiscard]] std::optional<Mark> open_mark() const {
        return stack_.empty() ? std::nullopt : std::optional(stack_.back().node.mark);
    }

private:
    struct Open {
        Node node;
        Node key;
        bool has_key = false;
        std::unordered_set<std::string> keys; ///< that were read
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
            check_key(parent, node);
            parent.key = std::move(node);
            parent.has_key = true;
        } else {
            parent.node.entries.push_back({std::move(parent.key), std::move(node)});
            parent.has_key = false;
        }
    }

    void check_key(Open& mapping, const Node& key) {
        if (key.kind != Node::Kind::kScalar) {
            refusals.push_back({key.mark, "a key must be a word", "", "write `key: value`"});
        } else if (key.scalar == "<<" && key.is_plain) {
            refusals.push_back({key.mark,
                                "merge keys are not read",
                                "the document must mean the same to every reader",
                                "write the fields out"});
        } else if (!mapping.keys.insert(key.scalar).second) {
            const Node* first = mapping.node.find(key.scalar);
            refusals.push_back({key.mark,
                                "duplicate key '" + printable(key.scalar) + "'",
                                "it stands in line " + std::to_string(first->mark.line) +
                                    " already, and readers differ on which one counts",
                                "remove `" + printable(key.scalar) + "` here, or in line " +
                                    std::to_string(first->mark.line),
                                "yaml-duplicate-key"});
        }
    }

    void check(const std::string& tag, YAML::anchor_t anchor, Mark mark) {
        if (anchor != 0) {
            refuse_anchor(mark, "remove `" + word_at(text_, mark) + "`");
        }
        if (!tag.empty() && tag != "?" && tag != "!") {
            refusals.push_back({mark,
                                "tags are not read: " + printable(tag),
                                "the field decides the type",
                                "remove `" + word_at(text_, mark) + "`"});
        }
    }

    void refuse_anchor(Mark mark, std::string help) {
        refusals.push_back({mark,
                            "anchors and aliases are not read",
                            "the document must mean the same to every reader",
                            std::move(help),
                            "yaml-anchor"});
    }

    std::vector<Open> stack_;
    std::string_view text_;
};

Fault fault_of(Place place, const Refusal& refusal) {
    return Fault(ErrorCode::kInput,
                 problem(refusal.id, refusal.message),
                 refusal.because,
                 refusal.help,
                 std::move(place));
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
    const std::size_t begin = at;
    const std::size_t end = std::min(text.find_first_of("\r\n", at), text.size());
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
                                "write `" + std::string(text.substr(begin, end - begin)) + quote +
                                    "` in place of `" +
                                    std::string(text.substr(begin, end - begin)) + "`",
                                "yaml-open-quote"});
}

/// Bytes that are not UTF-8: most often letters of an older encoding, in a line of their own.
Refusal not_text(std::string_view text, const std::string& file) {
    Refusal refusal{{0, 0, 0},
                    printable(file) + " is not a text",
                    "it holds bytes that are not UTF-8",
                    "check that this is the right file",
                    "file-not-text"};
    const bool is_utf16 = text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff");
    if (!is_utf16 && text.find('\0') != std::string_view::npos) {
        return refusal;
    }
    std::size_t number = 0;
    for (const std::string_view line : text::split_terminated(text, '\n')) {
        ++number;
        if (!is_utf8(line)) {
            break;
        }
    }
    refusal.mark = {is_utf16 ? 1 : number, 1, 0};
    refusal.help = "convert it: `iconv -f " + std::string(is_utf16 ? "UTF-16" : "LATIN1") +
                   " -t UTF-8 " + shell_quote(file) + " -o utf8.yaml`, and give utf8.yaml";
    return refusal;
}

/// The `---` that begins a second document, whose first value is at the mark.
Mark second_mark(std::string_view text, Mark mark) {
    const std::size_t at = text.rfind("\n---", offset_of(text, mark));
    if (at == std::string_view::npos) {
        return mark;
    }
    const auto before =
        std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
    return {static_cast<std::size_t>(before) + 2, 1};
}

} // namespace

Result<Document> parse(std::string text, std::string file) {
    Document document{Source(std::move(file), std::move(text)), {}};
    const std::string& bytes = document.source.text();
    if (!is_utf8(bytes) || bytes.find('\0') != std::string::npos) {
        const Refusal refusal = not_text(bytes, document.source.file());
        return fail(fault_of(document.source.place(refusal.mark), refusal));
    }
    TreeBuilder builder(bytes);
    try {
        std::istringstream stream(bytes);
        YAML::Parser parser(stream);
        if (!parser.HandleNextDocument(builder)) {
            return fail(ErrorCode::kInput,
                        problem("file-empty", printable(document.source.file()) + " is empty"),
                        {},
                        "begin it with `kind: …`");
        }
        TreeBuilder second(bytes);
        if (parser.HandleNextDocument(second)) {
            builder.refusals.push_back({second_mark(bytes, second.root.mark),
                                        "a second document in one file",
                                        "one file holds one document",
                                        "remove `---` and what follows it, or put that into a file "
                                        "of its own"});
        }
    } catch (const YAML::Exception& error) {
        const Stop stop{mark_of(error.mark), error.msg, builder.open_mark(), builder.last};
        const Refusal refusal = explain_stop(bytes, stop);
        return fail(fault_of(document.source.place(refusal.mark), refusal));
    }
    check_closed(bytes, builder);
    if (!builder.refusals.empty()) {
        Faults faults;
        LineWalk lines(bytes);
        for (const Refusal& refusal : builder.refusals) {
            faults.add(fault_of(lines.place(document.source.file(), refusal.mark), refusal));
        }
        return fail(faults.take());
    }
    document.root = std::move(builder.root);
    return document;
}

} // namespace cybele::yaml
