// SPDX-License-Identifier: Apache-2.0
#include "schedulers/reading/batch_script.hpp"

#include "schedulers/reading/option_table.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace cybele::schedulers {
namespace {

constexpr std::array<std::string_view, 4> kReaderNames{"slurm", "torque", "pbspro", "none"};

std::vector<std::string> split_lines(std::string_view text) {
    std::vector<std::string> lines;
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size());
        lines.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

std::string_view without_indent(std::string_view line) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    return line;
}

/// A line as a batch system sees it before the first command.
struct HeadLine {
    std::string_view prefix; ///< `#SBATCH`, `#PBS`, or empty
    std::string_view rest;   ///< behind the prefix
    bool is_indented = false;
    bool is_command = false;
};

HeadLine look_at(std::string_view line, Reader reader) {
    HeadLine head;
    const auto body = without_indent(line);
    head.is_indented = body.size() != line.size();
    for (const std::string_view prefix : {"#SBATCH", "#PBS"}) {
        if (body.starts_with(prefix)) {
            head.prefix = prefix;
            head.rest = body.substr(prefix.size());
        }
    }
    // A line that begins with `:` is a comment for PBS (torque.md, 2.1).
    const bool is_colon = reader != Reader::kSlurm && body.starts_with(':');
    head.is_command = !body.empty() && !body.starts_with('#') && !is_colon;
    return head;
}

/// `##SBATCH`, `# PBS`: somebody meant a directive, or took one out.
bool looks_like_directive(std::string_view line) {
    auto body = without_indent(line);
    if (!body.starts_with('#')) {
        return false;
    }
    while (body.starts_with('#') || body.starts_with(' ')) {
        body.remove_prefix(1);
    }
    return body.starts_with("SBATCH -") || body.starts_with("PBS -");
}

/// Directives of Grid Engine, LSF, Fujitsu's TCS, Moab, Cobalt, OAR and NQSV.
bool is_of_unread_system(std::string_view line) {
    constexpr std::array<std::string_view, 7> kMarks{
        "#$ -", "#BSUB -", "#PJM -", "#MSUB -", "#COBALT -", "#OAR -", "#QSUB -"};
    return std::ranges::any_of(kMarks,
                               [line](std::string_view mark) { return line.starts_with(mark); });
}

/// The words of a directive: quotes group, a backslash outside of them escapes (sbatch, and
/// make_argv() of both qsub), and an unquoted # begins a comment for Slurm, also within a word.
std::vector<std::string> directive_words(std::string_view text, Reader reader) {
    std::vector<std::string> words;
    std::string word;
    bool has_word = false;
    char quote = '\0';
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char next = text[at];
        if (quote != '\0') {
            if (next == quote) {
                quote = '\0';
            } else {
                word += next;
            }
        } else if (next == '"' || next == '\'') {
            quote = next;
            has_word = true;
        } else if (next == '\\' && at + 1 < text.size()) {
            word += text[++at];
            has_word = true;
        } else if (next == ' ' || next == '\t') {
            if (has_word) {
                words.push_back(word);
            }
            word.clear();
            has_word = false;
        } else if (next == '#' && reader == Reader::kSlurm) {
            break;
        } else {
            word += next;
            has_word = true;
        }
    }
    if (has_word) {
        words.push_back(word);
    }
    return words;
}

void put_list(std::size_t line, std::string_view option, std::string_view text, BatchScript& into) {
    while (!text.empty()) {
        const auto item = text.substr(0, text.find(','));
        text.remove_prefix(std::min(item.size() + 1, text.size()));
        const auto equals = item.find('=');
        Directive directive;
        directive.line = line;
        directive.option = std::string(option) + " " + std::string(item.substr(0, equals));
        directive.need = directive.option;
        directive.has_value = equals != std::string_view::npos;
        directive.value = directive.has_value ? std::string(item.substr(equals + 1)) : "";
        into.directives.push_back(std::move(directive));
    }
}

/// An option as written, its value beside it or in the next word.
struct Split {
    std::string option;
    std::string value;
    bool has_value = false;
};

Split split_option(std::string_view word) {
    Split split;
    if (word.starts_with("--")) {
        const auto equals = word.find('=');
        split.option = word.substr(0, equals);
        split.has_value = equals != std::string_view::npos;
        split.value = split.has_value ? std::string(word.substr(equals + 1)) : "";
        return split;
    }
    split.option = word.substr(0, 2);
    split.has_value = word.size() > 2;
    split.value = split.has_value ? std::string(word.substr(2)) : "";
    return split;
}

void read_words(std::size_t line, std::span<const std::string> words, BatchScript& into) {
    for (std::size_t at = 0; at < words.size(); ++at) {
        if (!words[at].starts_with('-') || words[at].size() < 2) {
            const bool goes_on = !into.odd.empty() && into.odd.back().line == line &&
                                 into.odd.back().why == SuspectLine::Why::kExtra;
            if (goes_on) { // one remark for the words of a comment
                into.odd.back().text += " " + words[at];
            } else {
                into.odd.push_back({line, SuspectLine::Why::kExtra, words[at]});
            }
            continue;
        }
        Split split = split_option(words[at]);
        const OptionRow* row = find_option(into.reader, split.option);
        Directive directive;
        directive.line = line;
        if (row == nullptr) {
            directive.option = split.option;
            directive.value = split.value;
            directive.has_value = split.has_value;
            if (!split.has_value && at + 1 < words.size() && !words[at + 1].starts_with('-')) {
                directive.value = words[++at];
                directive.has_value = true;
            }
            into.directives.push_back(std::move(directive));
            continue;
        }
        if (row->takes == OptionValue::kValue && !split.has_value && at + 1 < words.size()) {
            split.value = words[++at];
            split.has_value = true;
        }
        if (row->need == "list" || row->need == "attributes") {
            put_list(line, row->shorter, split.value, into);
            continue;
        }
        directive.option = row->longer.empty() ? row->shorter : row->longer;
        directive.need = row->need;
        directive.value = split.value;
        directive.has_value = split.has_value;
        into.directives.push_back(std::move(directive));
    }
}

/// A line of the head that begins with a prefix of a batch system.
void read_directive(std::size_t line, const HeadLine& head, BatchScript& into) {
    const bool is_slurm = into.reader == Reader::kSlurm;
    const std::string whole = into.lines[line - 1];
    if ((head.prefix == "#SBATCH") != is_slurm) {
        into.odd.push_back({line, SuspectLine::Why::kOther, whole});
        return;
    }
    if (is_slurm && head.is_indented) {
        into.odd.push_back({line, SuspectLine::Why::kIndented, whole});
        return;
    }
    std::string_view rest = head.rest;
    if (!rest.empty() && rest.front() != ' ' && rest.front() != '\t' && rest.front() != '-') {
        into.odd.push_back({line, SuspectLine::Why::kPrefix, whole});
        if (into.reader != Reader::kTorque) {
            return;
        }
        rest.remove_prefix(std::min(rest.find(' '), rest.size()));
    }
    const auto words = directive_words(rest, into.reader);
    read_words(line, words, into);
}

void read_lines(BatchScript& script) {
    bool is_head = true;
    std::string here;
    for (std::size_t index = 0; index < script.lines.size(); ++index) {
        const std::size_t line = index + 1;
        const auto& text = script.lines[index];
        const HeadLine head = look_at(text, script.reader);
        if (index == 0 && text.starts_with("#!")) {
            continue;
        }
        if (is_head && head.is_command) {
            is_head = false;
            script.first_command = line;
        }
        if (script.reader == Reader::kNone && is_of_unread_system(text)) {
            script.odd.push_back({line, SuspectLine::Why::kForeign, text});
        } else if (head.prefix.empty()) {
            if (is_head && looks_like_directive(text)) {
                script.odd.push_back({line, SuspectLine::Why::kComment, text});
            }
        } else if (is_head) {
            read_directive(line, head, script);
        } else if (without_indent(head.rest).starts_with('-')) {
            script.odd.push_back({line, SuspectLine::Why::kLate, text});
        }
    }
}

/// Resources that NCI's PBS Pro alone has.
bool is_of_nci(std::string_view line) {
    return line.find("storage=") != std::string_view::npos ||
           line.find("jobfs=") != std::string_view::npos || line.ends_with("-l wd") ||
           line.ends_with("-lwd");
}

Reader guess_reader(const std::vector<std::string>& lines) {
    bool has_pbs = false;
    for (const auto& line : lines) {
        if (line.starts_with("#SBATCH")) {
            return Reader::kSlurm;
        }
        if (without_indent(line).starts_with("#PBS")) {
            has_pbs = true;
            const bool is_pbspro = line.find("select=") != std::string::npos ||
                                   line.find("place=") != std::string::npos || is_of_nci(line) ||
                                   line.find(" -J ") != std::string::npos;
            if (is_pbspro) {
                return Reader::kPbspro;
            }
        }
    }
    return has_pbs ? Reader::kTorque : Reader::kNone;
}

} // namespace

std::string_view reader_text(Reader reader) {
    return kReaderNames.at(static_cast<std::size_t>(reader));
}

const Directive* BatchScript::find(std::string_view need) const {
    // The last of several counts; of `-l` of OpenPBS the first does (torque.md, 2.1).
    if (reader == Reader::kPbspro && need.starts_with("-l ")) {
        return find_row(directives, need, &Directive::need);
    }
    const auto found = std::find_if(directives.rbegin(),
                                    directives.rend(),
                                    [&](const Directive& each) { return each.need == need; });
    return found == directives.rend() ? nullptr : &*found;
}

std::size_t line_of_burst_buffer(const BatchScript& script) {
    const bool is_slurm = script.reader == Reader::kSlurm;
    const std::size_t end =
        script.first_command == 0 ? script.lines.size() + 1 : script.first_command;
    for (std::size_t line = 1; line < end && is_slurm; ++line) {
        const std::string& text = script.lines[line - 1];
        if (text.starts_with("#DW ") || text.starts_with("#BB ")) {
            return line;
        }
    }
    return 0;
}

bool is_ignored_comment(const BatchScript& script, const SuspectLine& odd) {
    return script.reader == Reader::kTorque && odd.why == SuspectLine::Why::kExtra &&
           odd.text.starts_with('#');
}

std::size_t BatchScript::line_of(std::string_view need) const {
    const Directive* found = find(need);
    return found == nullptr ? 0 : found->line;
}

Result<BatchScript> read_batch_script(std::string text, const std::string& file, Reader reader) {
    if (text.find('\0') != std::string::npos) {
        return fail(ErrorCode::kInput,
                    problem("script-binary", "'" + printable(file) + "' is not a script"),
                    "it has NUL bytes",
                    "name a text with #SBATCH or #PBS lines");
    }
    BatchScript script;
    script.lines = split_lines(text);
    script.source = yaml::Source(file, std::move(text));
    script.reader = reader == Reader::kNone ? guess_reader(script.lines) : reader;
    read_lines(script);
    script.commands = shell_commands(script.lines);
    return script;
}

} // namespace cybele::schedulers
