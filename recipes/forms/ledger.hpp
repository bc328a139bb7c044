// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/yaml.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace cybele::recipes {

/// Lines of one of the files that are read, both included, from 1.
struct Lines {
    std::size_t first = 1;
    std::size_t last = 1;
    std::size_t file = 0;
};

/// What became of one line. Every line that is not blank is carried or named.
struct ImportedLine {
    std::string file;
    std::size_t line = 0;
    bool is_blank = false;
    bool is_carried = false;
    std::string text;
};

/// What is said about a thing: the text, the reason, one remedy.
struct Words {
    std::string what;
    std::string because;
    std::string help;
};

/// The id of a note of what is not carried.
inline constexpr std::string_view kNotCarried = "import-not-carried";

/// What to write where a list is expected: `[hdf5]` for one word, else each item with `- `.
[[nodiscard]] std::string help_for_items(const yaml::Node& value);

/// Keeps account of each line of what is imported: blank, carried into the Recipe, or named with
/// the reason why it is not. Nothing can be neither.
class Ledger {
public:
    explicit Ledger(const yaml::Source& source);
    /// A further file; its index for marks and lines.
    std::size_t add(const yaml::Source& source);

    void carry(Lines lines);
    /// Not carried. Lines of which another part is carried stay carried.
    void lose(Lines lines, yaml::Mark mark, Words words);
    /// Carried, but meaning something a little different.
    void remark(yaml::Mark mark, Words words);
    /// A comment of the file, kept in the Recipe's head.
    void comment(std::size_t line, std::string text, std::size_t file = 0);
    /// The same for one whose lines are counted elsewhere.
    void keep(std::string text) {
        comments_.push_back(std::move(text));
    }
    /// The file cannot be used.
    void refuse(yaml::Mark mark, Words words);

    /// Lines of which nothing was said yet follow the line before them; at the file's start they
    /// are named.
    void settle();

    [[nodiscard]] bool is_refused() const {
        return faults_.has_errors();
    }
    [[nodiscard]] Error take_faults() {
        return faults_.take();
    }
    [[nodiscard]] const std::vector<Fault>& notes() const {
        return notes_;
    }
    [[nodiscard]] std::size_t lost() const {
        return lost_;
    }
    [[nodiscard]] std::vector<ImportedLine> lines() const;
    /// Comments for the Recipe's head: kept ones, then what was not carried, then what differs.
    [[nodiscard]] std::vector<std::string> head() const;
    [[nodiscard]] const yaml::Source& source() const {
        return source_;
    }

private:
    enum class LineState { kOpen, kBlank, kNamed, kCarried };
    struct File {
        std::string name;
        std::vector<std::string> text;
        std::vector<LineState> states;
    };
    void mark_lines(Lines lines, LineState state);
    void note(yaml::Mark mark, std::string_view id, const std::string& prefix, Words words);

    yaml::Source source_;
    std::vector<File> files_;
    std::vector<Fault> notes_;
    std::vector<std::string> comments_;
    std::size_t lost_ = 0;
    Faults faults_;
};

/// One line that a Recipe's text can be: not empty, no control characters.
[[nodiscard]] bool is_text_line(std::string_view text);

/// The file's lines without their ends.
[[nodiscard]] std::vector<std::string> lines_of(std::string_view text);

/// Carries a value of a yaml tree with all below it.
void carry_node(Ledger& ledger, const yaml::Node& node);
/// The lines of an entry: its key and all below its value.
[[nodiscard]] Lines lines_of_entry(const yaml::Entry& entry);
[[nodiscard]] Lines lines_of_node(const yaml::Node& node);

} // namespace cybele::recipes
