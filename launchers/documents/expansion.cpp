// SPDX-License-Identifier: Apache-2.0
#include "launchers/documents/expansion.hpp"

#include "launchers/documents/job_fields_rules.hpp"
#include "support/characters.hpp"
#include "support/name.hpp"

#include <algorithm>

namespace cybele::launchers {
namespace {

using document::ValueFault;

constexpr std::string_view kOtherwise = ":-";

bool is_upper_name(std::string_view name) {
    return std::ranges::none_of(name, is_lower);
}

/// Reads a text from left to right; the first fault ends it.
class ExpansionReader {
public:
    explicit ExpansionReader(std::string_view text) : rest_(text) {}

    void read() {
        while (!rest_.empty() && complaint_.because.empty()) {
            if (rest_.starts_with("\\$")) {
                literal_ += '$';
                rest_.remove_prefix(2);
            } else if (rest_.front() == '`') {
                refuse_command();
            } else if (rest_.front() == '$') {
                read_variable();
            } else {
                literal_ += rest_.front();
                rest_.remove_prefix(1);
            }
        }
        flush();
    }

    [[nodiscard]] const ValueFault& complaint() const {
        return complaint_;
    }
    [[nodiscard]] std::vector<ExpansionPiece>& pieces() {
        return pieces_;
    }

private:
    void flush() {
        if (!literal_.empty()) {
            pieces_.push_back({std::move(literal_), {}, false});
            literal_.clear();
        }
    }

    void refuse_command() {
        complaint_ = {"only variables are replaced, and no commands are run",
                      "write `setup: export VALUE=$(command)`, and `$VALUE` here"};
    }

    void read_variable() {
        rest_.remove_prefix(1);
        if (rest_.starts_with('(')) {
            refuse_command();
            return;
        }
        const bool is_braced = rest_.starts_with('{');
        rest_.remove_prefix(is_braced ? 1 : 0);
        const auto* const end = std::find_if_not(rest_.begin(), rest_.end(), is_word_character);
        ExpansionPiece piece;
        piece.variable = rest_.substr(0, static_cast<std::size_t>(end - rest_.begin()));
        rest_.remove_prefix(piece.variable.size());
        if (!is_variable_name(piece.variable)) {
            complaint_ = {"`$` is followed by the name of a variable",
                          "write `\\$` where a dollar sign is meant"};
            return;
        }
        if (!is_upper_name(piece.variable)) {
            complaint_ = {"names with lower-case letters are those of the script itself",
                          "write `setup: export VALUE=$" + piece.variable + "`, and `$VALUE` here"};
            return;
        }
        if (is_braced) {
            read_otherwise(piece);
        }
        flush();
        pieces_.push_back(std::move(piece));
    }

    void read_otherwise(ExpansionPiece& piece) {
        const auto end = rest_.find('}');
        std::string_view inner = rest_.substr(0, end);
        const bool is_good =
            end != std::string_view::npos &&
            (inner.empty() || (inner.starts_with(kOtherwise) &&
                               inner.find_first_of("$`\"\\{") == std::string_view::npos));
        if (!is_good) {
            complaint_ = {"a variable is written `$NAME`, `${NAME}` or `${NAME:-text}`",
                          "compute other values in `setup`, as `export VALUE=...`, and write "
                          "`$VALUE` here"};
            return;
        }
        rest_.remove_prefix(end + 1);
        piece.has_otherwise = !inner.empty();
        piece.text = inner.empty() ? "" : inner.substr(kOtherwise.size());
    }

    std::string_view rest_;
    std::string literal_;
    std::vector<ExpansionPiece> pieces_;
    ValueFault complaint_;
};

} // namespace

std::vector<ExpansionPiece> expansion_pieces(std::string_view text) {
    ExpansionReader reader(text);
    reader.read();
    return std::move(reader.pieces());
}

std::vector<std::string> required_variables(std::string_view text) {
    std::vector<std::string> names;
    for (const ExpansionPiece& piece : expansion_pieces(text)) {
        if (!piece.variable.empty() && !piece.has_otherwise) {
            names.push_back(piece.variable);
        }
    }
    return names;
}

ValueFault check_expansion(std::string_view text) {
    ExpansionReader reader(text);
    reader.read();
    if (!reader.complaint().because.empty()) {
        return reader.complaint();
    }
    const auto& pieces = reader.pieces();
    if (std::ranges::all_of(pieces,
                            [](const ExpansionPiece& piece) { return piece.variable.empty(); })) {
        return {"it has no variable", "write the text without `expand`"};
    }
    return {};
}

ValueFault check_expanded_bind(std::string_view text) {
    ValueFault complaint = check_expansion(text);
    if (!complaint.because.empty()) {
        return complaint;
    }
    std::string plain; // any absolute path stands for a variable
    for (const ExpansionPiece& piece : expansion_pieces(text)) {
        plain += piece.variable.empty() ? piece.text : "/x";
    }
    return check_bind(plain);
}

} // namespace cybele::launchers
