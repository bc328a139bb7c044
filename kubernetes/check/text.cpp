// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/check/context.hpp"
#include "support/quote.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace cybele::kubernetes {
namespace {

std::size_t indentation_of(std::string_view line) {
    return std::min(line.find_first_not_of(' '), line.size());
}

bool is_blank(std::string_view line) {
    return line.find_first_not_of(" \t") == std::string_view::npos;
}

/// A line `key: |` (or `>`), with or without indentation indicator.
struct Header {
    std::string_view key;
    char style = '|';
    bool has_indicator = false;
};

std::optional<Header> header_of(std::string_view line) {
    const auto colon = line.find(": ");
    if (colon == std::string_view::npos) {
        return std::nullopt;
    }
    const auto begin = line.find_first_not_of(' ', colon + 1);
    if (begin == std::string_view::npos || (line[begin] != '|' && line[begin] != '>')) {
        return std::nullopt;
    }
    Header header;
    header.key = line.substr(0, colon);
    header.key.remove_prefix(std::min(header.key.find_first_not_of(" -\"'"), header.key.size()));
    header.style = line[begin];
    for (std::size_t at = begin + 1; at < line.size() && line[at] != ' '; ++at) {
        if (line[at] >= '1' && line[at] <= '9') {
            header.has_indicator = true;
        } else if (line[at] != '-' && line[at] != '+') {
            return std::nullopt;
        }
    }
    return header;
}

bool is_script_key(std::string_view key) {
    return key == "batch" || key == "jobscript" || key == "sbatchScript";
}

bool is_directive(std::string_view comment) {
    return comment.starts_with("#SBATCH") || comment.starts_with("#PBS");
}

class Blocks {
public:
    explicit Blocks(Check& check) : check_(check) {}

    /// Goes through a block that begins at line `index`; gives the line behind it.
    std::size_t walk(std::size_t index, const Header& header);
    std::vector<bool> is_inside;

private:
    void judge_after(std::size_t index, std::size_t parent, std::size_t own);
    Check& check_;
};

/// Comments right behind a block that were meant for it.
void Blocks::judge_after(std::size_t index, std::size_t parent, std::size_t own) {
    bool is_first = true;
    for (; index < check_.lines.size(); ++index) {
        const auto line = check_.lines[index];
        if (is_blank(line)) {
            continue;
        }
        const auto indentation = indentation_of(line);
        const auto words = line.substr(indentation);
        const bool is_meant = indentation > parent && indentation < own;
        if (words.front() == '#') {
            const yaml::Mark mark{index + 1, indentation + 1};
            if (is_directive(words)) {
                check_.found("K5", mark, "a directive stands outside the script");
            } else if (is_meant && is_first) {
                check_.found("K4", mark, "the block ends before this line");
            }
            is_first = false;
            continue;
        }
        if (is_meant && is_first) {
            check_.found("K4", {index + 1, indentation + 1}, "the block ends before this line");
        }
        return;
    }
}

std::size_t Blocks::walk(std::size_t index, const Header& header) {
    const auto line = check_.lines[index];
    const auto parent = std::min(line.find_first_not_of(" -"), line.size());
    if (header.style == '>' && is_script_key(header.key)) {
        check_.found("K6",
                     {index + 1, line.find(": >") + 3},
                     fmt::format("`{}: >` joins the script's lines", printable(header.key)));
    }
    std::size_t own = 0;
    std::size_t at = index + 1;
    for (; at < check_.lines.size(); ++at) {
        const auto inner = check_.lines[at];
        if (is_blank(inner)) {
            is_inside[at] = true;
            continue;
        }
        const auto indentation = indentation_of(inner);
        own = own == 0 ? indentation : own;
        const auto least = header.has_indicator ? parent + 1 : std::max(own, parent + 1);
        if (indentation < least) {
            break;
        }
        is_inside[at] = true;
    }
    if (own > parent && !header.has_indicator) {
        judge_after(at, parent, own);
    }
    return at;
}

void check_blocks(Check& check, std::vector<bool>& is_inside) {
    Blocks blocks(check);
    blocks.is_inside.assign(check.lines.size(), false);
    for (std::size_t index = 0; index < check.lines.size();) {
        const auto header = header_of(check.lines[index]);
        index = header ? blocks.walk(index, *header) : index + 1;
    }
    is_inside = std::move(blocks.is_inside);
}

void check_tabs(Check& check, const std::vector<bool>& is_inside) {
    for (std::size_t index = 0; index < check.lines.size(); ++index) {
        const auto line = check.lines[index];
        const auto begin = std::min(line.find_first_not_of(" \t"), line.size());
        const auto tab = line.substr(0, begin).find('\t');
        if (tab != std::string_view::npos && begin < line.size() && line[begin] != '#' &&
            !is_inside[index]) {
            check.found("K7", {index + 1, tab + 1}, "the line is indented by a tab");
        }
    }
}

void check_text_bytes(Check& check) {
    const std::string& text = check.source.text();
    const auto carriage = text.find("\r\n");
    if (carriage != std::string::npos) {
        const auto line =
            std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(carriage), '\n');
        check.found("K8", {static_cast<std::size_t>(line) + 1, 1}, "the file has DOS line ends");
    }
    for (std::size_t index = 0; index < check.lines.size(); ++index) {
        const auto line = check.lines[index];
        const auto zero = line.find('\0');
        if (zero != std::string_view::npos || !is_utf8(line)) {
            check.found("K18",
                        {index + 1, 1},
                        zero != std::string_view::npos ? "a NUL" : "bytes that are not UTF-8");
            return;
        }
    }
}

} // namespace

void check_text(Check& check) {
    std::vector<bool> is_inside;
    check_text_bytes(check);
    check_blocks(check, is_inside);
    check_tabs(check, is_inside);
}

} // namespace cybele::kubernetes
