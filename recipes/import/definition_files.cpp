// SPDX-License-Identifier: Apache-2.0
#include "definitions/grammar/lines.hpp"
#include "recipes/forms/words.hpp"
#include "recipes/import/definition.hpp"
#include "recipes/import/dockerfile_words.hpp"
#include "recipes/import/shell_lines.hpp"
#include "recipes/stage/render_text.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

namespace cybele::recipes::definition_file {
namespace {

/// Folders that no package manager reads.
constexpr std::array<std::string_view, 15> kOwnFolders{"/opt/",
                                                       "/usr/src/",
                                                       "/srv/",
                                                       "/home/",
                                                       "/root/",
                                                       "/mnt/",
                                                       "/tmp/",
                                                       "/data/",
                                                       "/app/",
                                                       "/src/",
                                                       "/code/",
                                                       "/work/",
                                                       "/scif/",
                                                       "/usr/local/",
                                                       "/var/tmp/"};

/// Where a source without a destination goes.
std::string default_target(const std::string& from) {
    std::string path = from;
    while (path.starts_with("./")) {
        path.erase(0, 2);
    }
    if (path.find_first_of("*?[") != std::string::npos) {
        const auto slash = path.rfind('/');
        path = slash == std::string::npos ? "" : path.substr(0, slash + 1);
    }
    return path.starts_with('/') ? path : "/" + path;
}

std::string absolute_target(std::string to) {
    while (to.starts_with("./")) {
        to.erase(0, 2);
    }
    if (to == ".") {
        to.clear();
    }
    return to.starts_with('/') ? to : "/" + to;
}

/// A path of which every Recipe can be sure.
bool is_simple(std::string_view path) {
    constexpr std::string_view kSimple =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-*";
    return !path.empty() && path.find_first_not_of(kSimple) == std::string_view::npos &&
           path.find("..") == std::string_view::npos;
}

/// A copy that a Recipe can have; else the line is named. `wanted` has texts as they are meant.
std::optional<FileCopy>
copy_of(Ledger& ledger, const Part& part, std::size_t line, const FileCopy& wanted) {
    FileCopy copy = wanted;
    copy.from = literal(wanted.from);
    copy.to = literal(wanted.to);
    const bool is_usual = wanted.to.starts_with("/opt/") || wanted.to.starts_with("/usr/");
    if (is_usual && is_simple(wanted.from) && is_simple(wanted.to)) {
        return copy; // most are, and a long list takes no longer to check than to read
    }
    Draft piece;
    if (!copy.stage.empty()) {
        piece.stages.emplace_back();
        piece.stages.front().name = copy.stage;
        piece.stages.front().base = "debian:12";
    }
    piece.files.push_back(copy);
    if (const auto fault = fault_of(piece)) {
        lose_line(
            ledger, part, line, {"'" + printable(wanted.from) + "'", fault->message, fault->help});
        return std::nullopt;
    }
    return copy;
}

FileCopy wanted_copy(std::string from, std::string to, std::string stage = {}) {
    FileCopy copy;
    copy.from = std::move(from);
    copy.to = std::move(to);
    copy.stage = std::move(stage);
    return copy;
}

/// The path without slashes at its end.
std::string plain(std::string path) {
    while (path.size() > 1 && path.ends_with('/')) {
        path.pop_back();
    }
    return path;
}

std::string as_folder(const std::string& path) {
    const std::string own = plain(path);
    return own == "/" ? own : own + "/";
}

/// The folder and those above it, as `mkdir -p` makes them.
void add_folders(std::set<std::string>& folders, const std::string& path) {
    for (std::string own = plain(path); own.size() > 1; own = own.substr(0, own.rfind('/'))) {
        folders.insert(own);
    }
}

/// Where files for a folder wait that the runtime mounts over: the build reads them there, but a
/// Recipe copies nothing into it.
std::string waiting_place(const std::string& target) {
    if (target == "/tmp" || target == "/var/tmp") {
        return std::string(kWaitingFiles) + target + "/"; // both are folders of every base
    }
    const bool waits = target.starts_with("/tmp/") || target.starts_with("/var/tmp/");
    return waits ? std::string(kWaitingFiles) + target : target;
}

/// The lines of `%files`, from a stage or from the host.
std::vector<FileCopy> read_file_lines(Ledger& ledger, const Part& part, const std::string& stage) {
    std::vector<FileCopy> files;
    const std::size_t first = part.section->line + 1;
    const auto lines = lines_of(part.section->text);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const auto text = trimmed(lines[i]);
        if (text.starts_with('#')) {
            ledger.comment(first + i, std::string(trimmed(text, "# \t")));
            continue;
        }
        const auto words = text.empty() ? std::nullopt : definitions::split_file_line(lines[i]);
        if (!words) {
            continue;
        }
        const std::string target = waiting_place(
            words->second.empty() ? default_target(words->first) : absolute_target(words->second));
        const bool is_relative = !stage.empty() && !words->first.starts_with('/');
        const std::string from = (is_relative ? "/" : "") + words->first; // as Apptainer reads it
        if (auto copy = copy_of(ledger, part, i, wanted_copy(from, target, stage))) {
            files.push_back(std::move(*copy));
            ledger.carry({first + i, first + i});
        }
    }
    return files;
}

/// The commands of %setup, with the image's root taken away.
class Setup {
public:
    Setup(State& state, const Part& part) : state_(state), part_(part) {}

    void run(DraftStep& step) {
        const std::string& text = part_.section->text;
        std::size_t done = 0;
        for (const auto& line : plain_lines(text)) {
            line_ = static_cast<std::size_t>(
                std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(done), '\n'));
            done = line.bytes.end;
            const std::size_t last = line_ + lines_in(text, line.bytes) - 1;
            if (!line.is_plain) {
                rest(line_);
                return;
            }
            bool is_carried = true;
            for (const auto& [begin, end] : line.commands) {
                is_carried =
                    command(without_continuations(text.substr(begin, end - begin)), step) &&
                    is_carried;
            }
            if (is_carried) {
                const std::size_t first = part_.section->line + 1;
                state_.ledger.carry({first + line_, first + last});
            } else {
                rest(line_);
                return;
            }
        }
    }

private:
    static std::size_t lines_in(const std::string& text, const ShellSpan& bytes) {
        const auto own = std::string_view(text).substr(bytes.begin, bytes.end - bytes.begin);
        const auto count = static_cast<std::size_t>(std::count(own.begin(), own.end(), '\n'));
        return std::max<std::size_t>(count, 1);
    }

    /// A command that runs on the host and does more than copy ends what is understood: those after
    /// it may need it.
    void rest(std::size_t line) {
        const auto lines = lines_of(part_.section->text);
        for (std::size_t i = line; i < lines.size(); ++i) {
            const auto text = trimmed(lines[i]);
            if (!text.empty()) {
                lose_line(state_.ledger,
                          part_,
                          i,
                          {"'" + printable(text) + "' of %setup",
                           "it runs on the host before the image is built",
                           "run it before the build, and copy its result with `files`"});
            }
        }
    }

    /// The path below the image's root; nothing: it is a path of the host, or not known.
    static std::optional<std::string> in_image(const std::string& raw) {
        std::string word;
        std::copy_if(
            raw.begin(), raw.end(), std::back_inserter(word), [](char c) { return c != '"'; });
        constexpr std::array<std::string_view, 4> kRoots{"${SINGULARITY_ROOTFS}",
                                                         "$SINGULARITY_ROOTFS",
                                                         "${APPTAINER_ROOTFS}",
                                                         "$APPTAINER_ROOTFS"};
        for (const auto root : kRoots) {
            if (word.starts_with(root)) {
                const std::string path = word.substr(root.size());
                const bool is_path = (path.empty() || path.front() == '/') &&
                                     path.find_first_of("$`'\\*?[{") == std::string::npos;
                return is_path ? std::optional(path.empty() ? "/" : path) : std::nullopt;
            }
        }
        return std::nullopt;
    }

    static std::optional<std::string> on_host(const std::string& raw) {
        std::string word;
        std::copy_if(raw.begin(), raw.end(), std::back_inserter(word), [](char c) {
            return c != '"' && c != '\'';
        });
        const bool is_path = !word.empty() && word.find_first_of("$`\\~{") == std::string::npos;
        return is_path ? std::optional(word) : std::nullopt;
    }

    bool command(const std::string& text, DraftStep& step) {
        const auto words = dockerfile::split_words(text, '\\');
        const std::string& program = words.front().text;
        if (has_word("echo date pwd ls true :", program)) {
            return true; // nothing of it reaches the image
        }
        if (program == "cp") {
            return copy(words);
        }
        return has_word("mkdir touch chmod", program) && make(words, step);
    }

    bool make(const std::vector<dockerfile::Word>& words, DraftStep& step) {
        std::string line = words.front().text == "mkdir" ? "mkdir -p" : words.front().text;
        const bool is_mkdir = words.front().text == "mkdir";
        bool has_path = false;
        for (std::size_t i = 1; i < words.size(); ++i) {
            const std::string& word = words[i].text;
            const auto path = in_image(word);
            const bool is_mode =
                words.front().text == "chmod" && i == 1 &&
                word.find_first_not_of("01234567ugoarwxX+-=,") == std::string::npos;
            if (path) {
                has_path = true;
                line += " " + definition_quote(*path);
                if (is_mkdir) {
                    add_folders(state_.made_folders, *path);
                }
            } else if (is_mode || (!is_mkdir && (word == "-R" || word == "-f"))) {
                line += " " + word;
            } else if (!(is_mkdir && has_word("-p -v -pv -vp", word))) {
                return false;
            }
        }
        if (has_path) {
            step.run += line + "\n";
        }
        return has_path;
    }

    bool copy(const std::vector<dockerfile::Word>& words) {
        std::vector<std::string> sources;
        std::optional<std::string> target;
        for (std::size_t i = 1; i < words.size(); ++i) {
            const std::string& word = words[i].text;
            if (word.starts_with('-')) {
                if (word.find_first_not_of("-arRfvpLu") != std::string::npos) {
                    return false;
                }
                continue;
            }
            if (i + 1 == words.size()) {
                target = in_image(word);
                continue;
            }
            const auto source = on_host(word);
            if (!source) {
                return false;
            }
            sources.push_back(*source);
        }
        if (!target || sources.empty()) {
            return false;
        }
        const bool is_pattern = sources.front().find_first_of("*?[") != std::string::npos;
        if (sources.size() > 1 || is_pattern || state_.made_folders.contains(plain(*target))) {
            *target = as_folder(*target);
        }
        std::vector<FileCopy> copies;
        for (const auto& source : sources) {
            auto one = copy_of(state_.ledger, part_, line_, wanted_copy(source, *target));
            if (!one) {
                return false;
            }
            copies.push_back(std::move(*one));
        }
        for (auto& one : copies) {
            state_.has_system_files = state_.has_system_files || is_system_copy(one);
            state_.stage.files.push_back(std::move(one));
        }
        return true;
    }

    State& state_;
    const Part& part_;
    std::size_t line_ = 0;
};

} // namespace

bool is_system_path(std::string_view path) {
    const std::string own = std::string(path) + "/";
    if (std::ranges::any_of(kOwnFolders,
                            [&](std::string_view folder) { return own.starts_with(folder); })) {
        return false;
    }
    constexpr std::array<std::string_view, 9> kSystem{
        "/etc/", "/usr/", "/var/", "/bin/", "/sbin/", "/lib", "/run/", "/dev/", "/proc/"};
    return path.empty() || path == "/" ||
           std::ranges::any_of(kSystem,
                               [&](std::string_view folder) { return own.starts_with(folder); });
}

bool is_system_copy(const FileCopy& file) {
    const std::string name = file.from.substr(file.from.rfind('/') + 1);
    const bool is_named = name.find_first_not_of('.') != std::string::npos &&
                          name.find_first_of("*?[") == std::string::npos;
    return is_system_path(file.to == "/" && is_named ? "/" + name : file.to);
}

std::vector<FileCopy>
read_files(Ledger& ledger, const Part& part, const std::map<std::string, std::string>& names) {
    const auto origin = definitions::files_origin(*part.section);
    const std::size_t first = part.section->line;
    ledger.carry({first, first});
    if (origin.kind == definitions::FilesOrigin::Kind::kSkipped) {
        ledger.lose(part.lines,
                    {first, 1},
                    {"%files " + printable(part.section->arguments),
                     "Apptainer skips such a section",
                     "write `%files` or `%files from STAGE`"});
        return {};
    }
    std::string stage;
    if (origin.kind == definitions::FilesOrigin::Kind::kStage) {
        const auto found = names.find(origin.stage);
        if (found == names.end()) {
            ledger.refuse({first, 1},
                          {"no stage before this one is named '" + printable(origin.stage) + "'",
                           "files are copied from an earlier stage",
                           "write the name that follows `Stage:`"});
            return {};
        }
        stage = found->second;
    }
    return read_file_lines(ledger, part, stage);
}

DraftStep move_waiting() {
    return {fmt::format("for folder in /tmp /var/tmp; do\n"
                        "    [ -d {0}$folder ] || continue\n"
                        "    mkdir -p $folder\n"
                        "    for file in {0}$folder/* {0}$folder/.[!.]*; do\n"
                        "        [ ! -e \"$file\" ] || cp -a \"$file\" $folder/\n"
                        "    done\n"
                        "done\n"
                        "rm -rf {0}\n",
                        kWaitingFiles)};
}

void carry_setup(State& state, const Joined& setup) {
    DraftStep step;
    for (const auto& part : setup.parts) {
        state.ledger.carry({part.section->line, part.section->line});
        Setup(state, part).run(step);
    }
    if (!step.run.empty()) {
        state.before.push_back(std::move(step));
    }
}

} // namespace cybele::recipes::definition_file
