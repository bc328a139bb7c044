// SPDX-License-Identifier: Apache-2.0
#include "schedulers/reading/convert_batch.hpp"

#include "launchers/documents/job.hpp"
#include "schedulers/reading/batch_fields.hpp"
#include "schedulers/reading/default_outputs.hpp"
#include "schedulers/reading/script_shell.hpp"
#include "schedulers/reading/typed_words.hpp"
#include "support/characters.hpp"
#include "support/document_view.hpp"
#include "support/name.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"
#include "support/yaml_print.hpp"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

namespace cybele::schedulers {
namespace {

/// The lines of directives that were read, which become fields and words.
std::set<std::size_t> directive_lines_of(const BatchScript& script) {
    std::set<std::size_t> lines;
    for (const Directive& directive : script.directives) {
        lines.insert(directive.line);
    }
    return lines;
}

struct OddReason {
    SuspectLine::Why why;
    std::string_view because;
    std::string_view help;
};
constexpr std::array<OddReason, 7> kOddReasons{
    {{SuspectLine::Why::kLate,
      "it stands after the first command, where no batch system reads it",
      "where it was meant, write it into the Job"},
     {SuspectLine::Why::kIndented,
      "sbatch does not read an indented directive",
      "where it was meant, write it into the Job"},
     {SuspectLine::Why::kComment,
      "it is a comment, not a directive",
      "where it was meant, write it into the Job"},
     {SuspectLine::Why::kPrefix,
      "TORQUE and OpenPBS read it differently",
      "where it was meant, write it into the Job"},
     {SuspectLine::Why::kOther,
      "it is for another batch system, and stays a comment in `script`",
      "where it was meant, write it under `directives`"},
     {SuspectLine::Why::kForeign,
      "it is for a batch system that cybelectl does not support, and stays a comment in `script`",
      "write its values as fields of the Job"},
     {SuspectLine::Why::kExtra,
      "the word belongs to no option, so the batch system rejects or ignores it",
      "remove it from the script"}}};

/// Measured with Slurm 22.05: `#PBS -N a` wins over `#SBATCH --job-name=b`.
constexpr std::string_view kReadByBoth =
    "sbatch reads `#PBS` lines, too, and theirs count where both give a value; in the Job it is a "
    "comment of `script`";
constexpr std::string_view kWriteForSlurm =
    "write its values as fields of the Job, or as `#SBATCH` lines of the script";

/// Comments that only look like directives are no change; the others may be meant.
void tell_odd_lines(const BatchScript& script, Conversion& into) {
    for (const SuspectLine& odd : script.odd) {
        if (is_ignored_comment(script, odd)) {
            continue; // convert.cpp says it once
        }
        const auto* const row = std::ranges::find(kOddReasons, odd.why, &OddReason::why);
        const bool is_note = odd.why == SuspectLine::Why::kComment ||
                             odd.why == SuspectLine::Why::kLate ||
                             odd.why == SuspectLine::Why::kIndented;
        const bool is_of_both = odd.why == SuspectLine::Why::kOther &&
                                script.reader == Reader::kSlurm &&
                                script.find("ignore-pbs") == nullptr;
        auto& list = is_note ? into.notes : into.left;
        list.push_back({odd.line,
                        odd.text,
                        std::string(is_of_both ? kReadByBoth : row->because),
                        std::string(is_of_both ? kWriteForSlurm : row->help)});
    }
}

/// Whether the line has `$NAME` or `${NAME`.
bool has_variable(std::string_view line, std::string_view name) {
    for (std::size_t at = line.find('$'); at != line.npos; at = line.find('$', at + 1)) {
        std::string_view rest = line.substr(at + 1);
        rest.remove_prefix(rest.starts_with('{') ? 1 : 0);
        const bool is_special = !is_word_start(name.front());
        if (name == "#" && rest.data() != line.data() + at + 1 && !rest.starts_with("#}")) {
            continue; // `${#NAME}` is a length
        }
        if (rest.starts_with(name) &&
            (is_special || rest.size() == name.size() || !is_word_character(rest[name.size()]))) {
            return true;
        }
    }
    return false;
}

constexpr std::array<std::string_view, 7> kSecretParts{
    "TOKEN", "SECRET", "PASSWORD", "PASSWD", "API_KEY", "APIKEY", "ACCESS_KEY"};

/// The name before that `=`, where it is one of a secret and a literal value follows.
std::string secret_at(std::string_view line, std::size_t equals) {
    std::size_t begin = equals;
    while (begin > 0 && is_word_character(line[begin - 1])) {
        --begin;
    }
    std::string name(line.substr(begin, equals - begin));
    name = text::uppered(name);
    std::string_view value = line.substr(equals + 1);
    value.remove_prefix(value.starts_with('"') || value.starts_with('\'') ? 1 : 0);
    const auto end = std::find_if_not(value.begin(), value.end(), is_word_character);
    const std::string_view word(value.begin(), end);
    const bool is_literal = !word.empty() && word != "true" && word != "false";
    constexpr std::string_view kTokenizer = "TOKENIZER"; // of a language model
    const auto tokenizer = name.find(kTokenizer);
    name.erase(std::min(tokenizer, name.size()),
               tokenizer == std::string::npos ? 0 : kTokenizer.size());
    const bool is_secret = std::ranges::any_of(
        kSecretParts, [&](std::string_view part) { return name.find(part) != std::string::npos; });
    return is_literal && is_secret ? std::string(line.substr(begin, equals - begin)) : "";
}

/// The first secret of a line; empty: none.
std::string secret_of(std::string_view line) {
    for (auto at = line.find('='); at != line.npos; at = line.find('=', at + 1)) {
        if (std::string name = secret_at(line, at); !name.empty()) {
            return name;
        }
    }
    return {};
}

/// `sbatch "$0"`, `cp "$0" out`: any batch system runs a copy, but its copy has the options.
bool uses_itself(std::string_view line) {
    constexpr std::array<std::string_view, 5> kReaders{"cat ", "cp ", "rsync ", "head ", "tail "};
    const auto names_path = [](std::string_view text) {
        return has_variable(text, "0") || has_variable(text, "BASH_SOURCE");
    };
    const std::size_t start = std::min(line.find_first_not_of(" \t"), line.size());
    const std::string_view command = line.substr(start, line.find_first_of("|;'") - start);
    const bool asks = line.find("Command=") != std::string_view::npos;
    return asks || (starts_with_one_of(command, kReaders) && names_path(command)) ||
           (names_path(line) && (line.find("sbatch") != std::string_view::npos ||
                                 line.find("qsub") != std::string_view::npos));
}

/// Lines that a burst buffer plugin of Slurm reads, as long as only comments come before them.
void tell_burst_buffers(const BatchScript& script, Conversion& into) {
    const std::size_t line = line_of_burst_buffer(script);
    if (line != 0) {
        into.left.push_back(
            {line,
             script.lines[line - 1],
             "a burst buffer plugin reads it at the top of a script only, and a Job "
             "has it in its text",
             "submit it unchanged: `cybelectl submit --script " + printable(script.source.file()) +
                 "`"});
    }
}

/// Values of lines and directives that look like secrets.
void tell_secrets(const BatchScript& script, Conversion& into) {
    const std::set<std::size_t> taken = directive_lines_of(script);
    for (std::size_t index = 1; index < script.lines.size(); ++index) {
        const std::string& line = script.lines[index];
        const auto start = std::min(line.find_first_not_of(" \t"), line.size());
        if (!taken.contains(index + 1) && line.substr(start).starts_with('#')) {
            continue;
        }
        if (std::string secret = secret_of(line); !secret.empty()) {
            into.notes.push_back({index + 1,
                                  std::move(secret),
                                  "it looks like a secret, and stays in the Job as it is",
                                  "read it from a file: `environment: {NAME: @file:PATH}`"});
        }
    }
}

/// Lines of the body that are no comment.
std::vector<std::size_t> command_lines_of(const BatchScript& script) {
    const std::set<std::size_t> taken = directive_lines_of(script);
    std::vector<std::size_t> lines;
    for (std::size_t index = 1; index < script.lines.size(); ++index) {
        const std::string& line = script.lines[index];
        const auto start = std::min(line.find_first_not_of(" \t"), line.size());
        if (!taken.contains(index + 1) && !line.substr(start).starts_with('#')) {
            lines.push_back(index + 1);
        }
    }
    return lines;
}

/// The first of these lines for which `is_it` holds, without its indent, as a remainder.
template <class Test>
void tell_first_line(const BatchScript& script,
                     std::vector<Remainder>& into,
                     Test is_it,
                     std::string_view because,
                     std::string_view help) {
    for (const std::size_t line : command_lines_of(script)) {
        const std::string& text = script.lines[line - 1];
        if (is_it(text)) {
            into.push_back({line,
                            text.substr(std::min(text.find_first_not_of(" \t"), text.size())),
                            std::string(because),
                            std::string(help)});
            return;
        }
    }
}

bool reads_arguments_of_script(std::string_view line) {
    return has_variable(line, "1") || has_variable(line, "@") || has_variable(line, "*") ||
           has_variable(line, "#");
}

void tell_arguments(const BatchScript& script, Conversion& into) {
    tell_first_line(script,
                    into.notes,
                    reads_arguments_of_script,
                    "it may read the arguments of the script",
                    "give them by `arguments`, or as `submit JOB -- ARGUMENTS`");
}

/// What a Job does not hand on to a script that runs as it stands.
void tell_not_handed_on(const BatchScript& script, Conversion& into) {
    const Directive* const signal = signal_not_passed_on(script, LaunchOf::kBatch);
    if (signal != nullptr) {
        into.left.push_back({signal->line,
                             signal->option + "=" + signal->value,
                             "a Job does not pass this signal on to its script",
                             "write `B:USR1`, and `trap … USR1` in the script"});
    }
}

/// The Job that was written, read back: it must be one, with the same script.
Result<void>
check_written(const Conversion& conversion, const std::string& body, const BatchScript& script) {
    const auto job = launchers::read_job(conversion.yaml, script.source.file() + ".yaml");
    if (!job) {
        const Fault& fault = job.error().faults().front();
        return fail(ErrorCode::kInput,
                    problem("script-not-convertible",
                            "'" + printable(script.source.file()) +
                                "' cannot become a Job: " + fault.message),
                    fault.because,
                    "submit it unchanged: `cybelectl submit --script " +
                        printable(script.source.file()) + "`");
    }
    if (job->script != body) {
        return fail(
            ErrorCode::kInternal,
            problem("script-text-changed", "the Job does not give the script back byte for byte"));
    }
    return {};
}

} // namespace

const Directive* signal_not_passed_on(const BatchScript& script, LaunchOf launch) {
    constexpr std::array<std::string_view, 6> kPassed{"USR1", "USR2", "TERM", "10", "12", "15"};
    constexpr std::array<std::string_view, 15> kToScript{"HUP",
                                                         "INT",
                                                         "QUIT",
                                                         "ALRM",
                                                         "PROF",
                                                         "URG",
                                                         "VTALRM",
                                                         "WINCH",
                                                         "XCPU",
                                                         "XFSZ",
                                                         "1",
                                                         "2",
                                                         "3",
                                                         "14",
                                                         "24"};
    const Directive* const signal = script.find("signal");
    const auto colon = signal == nullptr ? std::string::npos : signal->value.find(':');
    if (colon == std::string::npos || script.reader != Reader::kSlurm) {
        return nullptr; // without `B:` the steps get it, from Slurm itself
    }
    std::string_view name = std::string_view(signal->value).substr(colon + 1);
    name = name.substr(0, name.find('@'));
    name.remove_prefix(name.starts_with("SIG") ? 3 : 0);
    const bool is_passed =
        is_one_of(name, kPassed) || (launch == LaunchOf::kBatch && is_one_of(name, kToScript));
    return is_passed ? nullptr : signal;
}

std::string own_name(const BatchScript& script) {
    constexpr std::size_t kMost = 200;
    const std::string file = script.source.file();
    std::string name = file.substr(file.rfind('/') + 1);
    const bool is_name = !name.empty() && name.size() <= kMost && is_word_character(name.front()) &&
                         std::ranges::all_of(name, [](char letter) {
                             return is_word_character(letter) || letter == '.' || letter == '-';
                         });
    return is_name && script.reader != Reader::kNone && script.find("name") == nullptr
               ? name
               : std::string();
}

std::string body_of(const BatchScript& script) {
    const std::set<std::size_t> taken = directive_lines_of(script);
    std::string body;
    for (std::size_t index = 0; index < script.lines.size(); ++index) {
        const bool is_shebang = index == 0 && script.lines[0].starts_with("#!");
        if (!is_shebang && !taken.contains(index + 1)) {
            body += script.lines[index] + "\n";
        }
    }
    return body;
}

std::string shell_text(const BatchScript& script) {
    std::vector<std::string> words = shell_words_of(script);
    if (words.empty()) {
        return {};
    }
    if (words.front() == "/bin/bash" || words.front() == "/bin/sh") {
        words.front().erase(0, std::string_view("/bin/").size());
    }
    std::string list;
    for (const std::string& word : words) {
        list += (list.empty() ? "" : ", ") + yaml::double_quoted(word);
    }
    return words.size() == 1 ? list : "[" + list + "]";
}

void write_fields(const std::map<std::string, std::string>& fields, std::string& text) {
    std::string map;
    for (const auto& [field, value] : fields) {
        const auto dot = field.find('.');
        const std::string outer = field.substr(0, dot);
        if (dot != std::string::npos && outer != map) {
            text += outer + ":\n";
        }
        map = dot == std::string::npos ? "" : outer;
        text += dot == std::string::npos ? fmt::format("{}: {}\n", field, value)
                                         : fmt::format("  {}: {}\n", field.substr(dot + 1), value);
    }
}

void write_words(const BatchScript& script,
                 const std::vector<std::string>& words,
                 std::string& text) {
    if (words.empty()) {
        return;
    }
    text += fmt::format("directives:\n  {}:\n", reader_text(script.reader));
    for (const std::string& word : words) {
        text += fmt::format("    - {}\n", yaml::double_quoted(word));
    }
}

std::string document_name(const std::string& text) {
    constexpr std::size_t kMost = 50;
    std::string name;
    for (const char character : text) {
        const char small = to_lower(character);
        if (is_lower_or_digit(small)) {
            name += small;
        } else if (!name.empty() && name.back() != '-') {
            name += '-';
        }
    }
    name.resize(std::min(name.size(), kMost));
    while (name.ends_with('-')) {
        name.pop_back();
    }
    if (name.empty() || name.front() < 'a') {
        name = "job-" + name;
        name.resize(std::min(name.size() - (name.ends_with('-') ? 1 : 0), kMost));
        while (name.ends_with('-')) {
            name.pop_back();
        }
    }
    return name;
}

std::string block_text(const std::string& text, std::size_t indent) {
    const bool is_block = text.ends_with('\n') && text.find('\t') == std::string::npos &&
                          text.find_first_not_of('\n') != std::string::npos &&
                          !text.ends_with("\n\n") && !text.starts_with('\n') &&
                          text.find(" \n") == std::string::npos;
    const auto is_control = [](unsigned char letter) {
        return letter < 0x20 && letter != '\n' && letter != '\t';
    };
    if (std::ranges::any_of(text, is_control)) {
        return yaml::double_quoted(text);
    }
    // An indentation that is said, and all ends of lines kept, where a reader could take another.
    std::string out = is_block && text.front() != ' ' ? "|\n" : fmt::format("|2{}\n", "+");
    const std::string margin(indent + 2, ' ');
    std::string_view rest = text;
    while (!rest.empty()) {
        const auto line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        out += line.empty() ? "\n" : fmt::format("{}{}\n", margin, line);
    }
    return out;
}

void tell_typed(const BatchScript& script, Conversion& into) {
    tell_odd_lines(script, into);
    tell_secrets(script, into);
    tell_arguments(script, into);
    std::erase_if(into.notes, [&script](const Remainder& note) { // of comments, which say nothing
        return std::ranges::any_of(script.odd, [&note](const SuspectLine& odd) {
            return odd.line == note.line && odd.why == SuspectLine::Why::kComment;
        });
    });
}

Result<void> check_convertible(const BatchScript& script) {
    for (const SuspectLine& odd : script.odd) {
        if (odd.why == SuspectLine::Why::kExtra &&
            (odd.text == "hetjob" || odd.text == "packjob")) {
            return fail(document::fault_at(
                script.source,
                {odd.line, 1},
                problem("heterogeneous-job", "heterogeneous jobs are not supported yet"),
                "a Job describes one allocation, and this script asks for several",
                "submit it unchanged: `cybelectl submit --script " +
                    printable(script.source.file()) + "`"));
        }
    }
    return {};
}

Result<Conversion> convert_to_batch(const Explanation& explanation, const std::string& name) {
    const BatchScript& script = explanation.script;
    CYBELE_CHECK(check_convertible(script));
    Conversion conversion;
    BatchOptions options = batch_options(script);
    const std::string setup_of_folder =
        sets_submit_folder(script) ? setup_of_submit_folder(script, options) : std::string();
    conversion.in_fields = options.in_fields;
    conversion.as_words = options.words.size();
    conversion.left = std::move(options.refused);
    const Directive* const named = script.find("name");
    const std::string body = body_of(script);
    std::string& text = conversion.yaml;
    text =
        fmt::format("kind: Job\nname: {}\n", document_name(named == nullptr ? name : named->value));
    if (const std::string own = own_name(script); !own.empty()) {
        options.fields.emplace("job-name", yaml::double_quoted(own));
    }
    if (const auto found = options.fields.find("job-name"); found != options.fields.end()) {
        text += fmt::format("job-name: {}\n", found->second);
        options.fields.erase(found);
    }
    text += "launch: batch\n";
    const bool is_usual = shell_words_of(script) == std::vector<std::string>{"/bin/bash"};
    if (const std::string shell = shell_text(script); !shell.empty() && !is_usual) {
        text += fmt::format("shell: {}\n", shell);
    }
    write_fields(options.fields, text);
    write_words(script, options.words, text);
    if (!setup_of_folder.empty()) {
        text += setup_of_folder;
    } else if (is_in_private_folder(script)) {
        text += "setup: cd \"$PBS_JOBDIR\" # as OpenPBS starts a script with sandbox=PRIVATE\n";
    } else if (starts_at_home_of(script)) {
        text +=
            "setup: cd # as qsub starts a script; the Job would start in the submit directory\n";
    }
    text += "script: " + block_text(body, 0);
    tell_odd_lines(script, conversion);
    tell_burst_buffers(script, conversion);
    tell_secrets(script, conversion);
    tell_first_line(script,
                    conversion.left,
                    uses_itself,
                    "the script runs from a copy without its options",
                    "write the path of a script that has them");
    tell_arguments(script, conversion);
    tell_not_handed_on(script, conversion);
    CYBELE_CHECK(check_written(conversion, body, script));
    return conversion;
}

} // namespace cybele::schedulers
