// SPDX-License-Identifier: Apache-2.0
#include "submission/backends/framed.hpp"

#include "submission/backends/command_backend.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <charconv>

namespace cybele::submission {
namespace {

constexpr std::string_view kNotFound = "' is not in the PATH of any shell on '\"$(uname -n)\"";

/// ssh starts no login shell, and many sites set PATH in what a login shell reads: a program that
/// is not found is looked for as a login shell finds it, once for all calls.
constexpr std::string_view kFindProgram = R"(find_program() {
command -v "$1" >/dev/null 2>&1 && return
[ -z "${login_path:-}" ] || return
s=${SHELL:-/bin/sh}
case $s in */sh|*/bash|*/dash|*/ksh|*/zsh) ;; *) s=/bin/sh ;; esac
login_path=$("$s" -lc 'printf "\n%s\n" "$PATH"' </dev/null 2>/dev/null | tail -n 1)
login_path=${login_path:-/bin}
PATH=$PATH:$login_path
}
)";

constexpr std::string_view kOwnFolder =
    "own() { [ ! -L \"$1\" ] && [ -O \"$1\" ] || { echo \"$1 belongs to another user\" >&2; "
    "false; }; }\n";

void add_call(const Call& call, const std::string& nonce, std::string& script) {
    const std::string program = shell_quote(call.argv.front());
    for (const std::string& further : call.programs) {
        script += "find_program " + shell_quote(further) + "\n";
    }
    script += "find_program " + program + "\n( ";
    if (!call.files.empty()) {
        script += "[ ! -s \"$t/u\" ] || { cat \"$t/u\" \"$t/f\" >&2; exit 125; }; ";
    }
    for (const std::string& name : call.unset) {
        script += "unset " + name + "; ";
    }
    for (const auto& [name, value] : call.set) {
        script.append(name).append("=").append(shell_quote(value));
        script.append("; export ").append(name).append("; ");
    }
    if (!call.directory.empty()) {
        script += "cd " + shell_quote(call.directory.native()) + " || exit 125; ";
    }
    script += "command -v " + program + " >/dev/null 2>&1 || { echo " + program +
              std::string(kNotFound) + " >&2; exit 127; }; ";
    script += "exec " + shell_join(call.argv) + " ) </dev/null >\"$t/o\" 2>\"$t/e\"\n";
    script += "echo \"" + nonce + " call $? \"$(wc -c <\"$t/o\") $(wc -c <\"$t/e\")\n";
    script += "cat \"$t/o\" \"$t/e\"\n";
}

/// A here-document ends with a line feed, which a file need not: the other side cuts it off again.
/// The folder is a record, which no link of another user may lead away from, nor its parent.
void add_framed_file(const NewFile& file, const std::string& nonce, std::string& script) {
    const std::string path = shell_quote(file.path.native());
    const std::string size = std::to_string(file.bytes.size());
    const std::string folder = shell_quote(file.path.parent_path().native());
    const std::string above = shell_quote(file.path.parent_path().parent_path().native());
    script += "( umask 077; mkdir -p " + folder + " && own " + above + " && own " + folder +
              " && head -c " + size + " >" + path + " && [ \"$(wc -c <" + path + ")\" -eq " + size +
              " ] && chmod 700 " + path + " ) 2>>\"$t/f\" <<'" + nonce + " file' || echo " +
              shell_quote("cannot write " + file.path.native()) + " >>\"$t/u\"\n" + file.bytes +
              (file.bytes.empty() || file.bytes.ends_with('\n') ? "" : "\n") + nonce + " file\n";
}

/// With few programs, since a bridge reads hundreds of files: an empty one costs `ls` alone, whose
/// first word is the inode and the sixth the size.
void add_reading(const Reading& reading, const std::string& nonce, std::string& script) {
    const std::string file = shell_quote(reading.file);
    const std::string list = "set -- $(ls -dinL " + file + ")\n";
    script += "if [ -f " + file + " ] && [ ! -s " + file + " ]; then\n" + list;
    script += "echo \"" + nonce + " read 0 0 ${1:-0}\"\n";
    script += "elif [ -f " + file + " ] && tail -c +" + std::to_string(reading.offset + 1) + " " +
              file + " 2>/dev/null | head -c " + std::to_string(reading.most) +
              " >\"$t/o\"; then\n" + list;
    script += "echo \"" + nonce + " read ${6:-0} \"$(wc -c <\"$t/o\")\" ${1:-0}\"\n";
    script += "cat \"$t/o\"\nelse echo \"" + nonce + " none 0 0 0\"; fi\n";
}

/// One frame's line: its words behind the nonce.
std::optional<std::vector<std::string_view>>
take_line(std::string_view& rest, const std::string& nonce, std::size_t words) {
    const std::size_t end = rest.find('\n');
    if (!rest.starts_with(nonce + " ") || end == std::string_view::npos) {
        return std::nullopt;
    }
    auto found = text::split(rest.substr(nonce.size() + 1, end - nonce.size() - 1), ' ');
    std::erase_if(found, [](std::string_view word) { return word.empty(); });
    rest.remove_prefix(end + 1);
    return found.size() == words ? std::optional(std::move(found)) : std::nullopt;
}

/// As many bytes as the word says, from the front of the rest.
bool take_bytes(std::string_view& rest, std::string_view length, std::string& into) {
    const int count = text::number(length).value_or(-1);
    if (count < 0 || static_cast<std::size_t>(count) > rest.size()) {
        return false;
    }
    into = rest.substr(0, static_cast<std::size_t>(count));
    rest.remove_prefix(into.size());
    return true;
}

bool take_number(std::string_view word, std::uint64_t& into) {
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), into);
    return error == std::errc() && end == word.data() + word.size();
}

bool take_outcome(std::string_view& rest, const std::string& nonce, Outcome& into) {
    constexpr std::size_t kWords = 4; // call, code, length of the output, of the errors
    const auto line =
        take_line(rest, nonce, kWords).value_or(std::vector<std::string_view>(kWords));
    into.code = text::number(line[1]).value_or(-1);
    return into.code >= 0 && take_bytes(rest, line[2], into.output) &&
           take_bytes(rest, line[3], into.errors);
}

bool take_piece(std::string_view& rest, const std::string& nonce, ReadBack& into) {
    constexpr std::size_t kWords = 4; // read or none, size of the file, length of the piece, inode
    const auto line =
        take_line(rest, nonce, kWords).value_or(std::vector<std::string_view>(kWords));
    into.exists = line[0] == "read";
    return take_number(line[1], into.size) && take_number(line[3], into.inode) &&
           take_bytes(rest, line[2], into.bytes);
}

} // namespace

std::string framed_script(const std::vector<Call>& calls,
                          const std::vector<Reading>& readings,
                          const std::string& nonce,
                          const std::string& login_path) {
    std::string script = "t=$(mktemp -d) || exit 125\ntrap 'rm -rf \"$t\"' EXIT\n"
                         "echo \"" +
                         nonce + " begin\"\n" + std::string(kFindProgram);
    if (!login_path.empty()) {
        script += "PATH=$PATH:" + shell_quote(login_path) + "\n";
    }
    for (const Call& call : calls) {
        if (!call.files.empty()) {
            script += std::string(kOwnFolder) + ": >\"$t/u\"; : >\"$t/f\"\n";
        }
        for (const NewFile& file : call.files) {
            add_framed_file(file, nonce, script);
        }
        add_call(call, nonce, script);
    }
    for (const Reading& reading : readings) {
        add_reading(reading, nonce, script);
    }
    return script + "[ -z \"${login_path:-}\" ] || printf '%s path %s\\n' " + nonce +
           " \"$login_path\"\necho \"" + nonce + " end\"\n";
}

std::optional<Answers> read_frames(std::string_view output,
                                   std::size_t calls,
                                   std::size_t readings,
                                   const std::string& nonce) {
    const std::string begin = nonce + " begin\n";
    const std::size_t at = output.find(begin);
    if (at == std::string_view::npos) {
        return std::nullopt;
    }
    std::string_view rest = output.substr(at + begin.size());
    Answers answers;
    answers.outcomes.resize(calls);
    answers.files.resize(readings);
    for (Outcome& outcome : answers.outcomes) {
        if (!take_outcome(rest, nonce, outcome)) {
            return std::nullopt;
        }
    }
    for (ReadBack& piece : answers.files) {
        if (!take_piece(rest, nonce, piece)) {
            return std::nullopt;
        }
    }
    const std::string path = nonce + " path ";
    if (const std::size_t end = rest.find('\n');
        rest.starts_with(path) && end != std::string_view::npos) {
        answers.login_path = rest.substr(path.size(), end - path.size());
        rest.remove_prefix(end + 1);
    }
    if (rest != nonce + " end\n") {
        return std::nullopt;
    }
    return answers;
}

} // namespace cybele::submission
