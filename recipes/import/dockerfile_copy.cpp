// SPDX-License-Identifier: Apache-2.0
#include "recipes/forms/recipe_rules.hpp"
#include "recipes/forms/words.hpp"
#include "recipes/import/dockerfile.hpp"
#include "recipes/stage/render_text.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>

namespace cybele::recipes::dockerfile {
namespace {

/// Where files lie until a step puts them where they belong.
constexpr std::string_view kWaiting = "/opt/cybelectl/import/";

std::string_view base_name(std::string_view path) {
    while (path.size() > 1 && path.ends_with('/')) {
        path.remove_suffix(1);
    }
    const auto slash = path.rfind('/');
    return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

bool has_pattern(std::string_view path) {
    return path.find_first_of("*?[") != std::string_view::npos;
}

/// `%files` has no way to say these.
bool is_writable_path(std::string_view path) {
    return !path.empty() && path.find_first_of("\"\\$`{}\n\t") == std::string_view::npos &&
           path.front() != '~' && path.front() != '%';
}

/// Places that the runtime mounts over.
bool is_hidden(std::string_view path) {
    constexpr std::string_view kHidden[] = {"/tmp/", "/proc/", "/sys/", "/dev/", "/var/tmp/"};
    const std::string whole = std::string(path) + "/";
    return std::ranges::any_of(kHidden,
                               [&](std::string_view hidden) { return whole.starts_with(hidden); });
}

bool is_archive(std::string_view path) {
    constexpr std::string_view kEnds[] = {
        ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz", ".tar.zst"};
    return std::ranges::any_of(kEnds, [&](std::string_view end) { return path.ends_with(end); });
}

bool is_address(std::string_view path) {
    return path.find("://") != std::string_view::npos || path.starts_with("git@");
}

/// One COPY or ADD.
class Copy {
public:
    Copy(const File& file, const Instruction& own, State& state)
        : file_(file), own_(own), state_(state) {}

    void run() {
        std::size_t rest = 0;
        const auto flags = take_flags(own_.rest, rest);
        if (!read_flags(flags) || !read_words(rest)) {
            return;
        }
        bool is_done = true;
        if (!own_.heredocs.empty()) {
            is_done = documents();
        } else if (is_address_among()) {
            is_done = downloads();
        } else if (!direct()) {
            waiting();
        }
        if (!is_done) {
            return;
        }
        file_.ledger.carry(own_.lines);
        for (const auto& comment : own_.comments) {
            file_.ledger.keep(comment);
        }
    }

private:
    bool lose(std::string what, std::string because, std::string help, std::size_t at = 0) {
        for (const auto& comment : own_.comments) {
            file_.ledger.keep(comment);
        }
        file_.ledger.lose(own_.lines,
                          at == 0 ? own_.mark() : own_.mark_at(at),
                          {std::move(what), std::move(because), std::move(help)});
        return false;
    }

    bool read_flags(const std::vector<Flag>& flags) {
        constexpr std::string_view kKnown[] = {"from",
                                               "chown",
                                               "chmod",
                                               "link",
                                               "parents",
                                               "exclude",
                                               "checksum",
                                               "keep-git-dir",
                                               "unpack"};
        for (const auto& flag : flags) {
            if (!contains(kKnown, flag.name)) {
                const std::string near = nearest(flag.name, kKnown);
                file_.ledger.refuse(
                    own_.mark_at(flag.at),
                    {own_.keyword + " has no flag --" + printable(flag.name),
                     "a builder stops at it",
                     near.empty() ? "remove it" : "did you mean `--" + near + "`?"});
                return false;
            }
            const auto value = value_of(file_, own_, {flag.value, flag.at}, state_);
            if (!value) {
                return false;
            }
            if (flag.name == "from") {
                const auto found = file_.stages.find(text::lowered(flag.value));
                stage_ = found == file_.stages.end() ? std::string{} : found->second;
            } else if (flag.name == "chown") {
                owner_ = value->plain;
            } else if (flag.name == "chmod") {
                mode_ = value->plain;
            } else if (flag.name == "checksum") {
                checksum_ = value->plain;
            } else if (flag.name != "link") {
                return lose(own_.keyword + " --" + flag.name,
                            "`files` copies complete folders, under their own names",
                            "name the files one by one",
                            flag.at);
            }
        }
        return true;
    }

    bool read_words(std::size_t rest) {
        const std::string_view text = std::string_view(own_.rest).substr(rest);
        std::vector<Word> words;
        if (auto json = read_json_words(text)) {
            for (auto& word : *json) {
                std::replace(word.begin(), word.end(), '\n', ' ');
                words.push_back({std::move(word), rest});
            }
        } else {
            words = split_words(text, file_.escape);
            for (auto& word : words) {
                word.at += rest;
            }
        }
        if (words.size() < 2) {
            file_.ledger.refuse(own_.mark(),
                                {own_.keyword + " names no destination",
                                 "it needs a source and a destination",
                                 "write `" + own_.keyword + " SOURCE DESTINATION`"});
            return false;
        }
        for (const auto& word : words) {
            const auto value = value_of(file_, own_, word, state_);
            if (!value) {
                return false;
            }
            sources_.push_back(*value);
        }
        const Value to = sources_.back();
        sources_.pop_back();
        into_ = to.plain.ends_with('/') || to.plain == "." || to.plain.ends_with("/.") ||
                sources_.size() > 1;
        to_ = absolute(state_, to);
        return own_.heredocs.empty() ? check_paths(words) : true;
    }

    bool check_paths(const std::vector<Word>& words) {
        for (std::size_t i = 0; i < sources_.size(); ++i) {
            Value& source = sources_[i];
            if (is_address(source.plain)) {
                continue;
            }
            if (stage_.empty()) {
                strip_root(source);
                if (source.plain == ".." || source.plain.starts_with("../") ||
                    source.plain.find("/../") != std::string::npos) {
                    file_.ledger.refuse(
                        own_.mark_at(words[i].at),
                        {"'" + printable(source.plain) + "' is outside of the build context",
                         "a builder sees the files below the Dockerfile's folder",
                         "copy the file into it"});
                    return false;
                }
            } else if (!source.plain.starts_with('/')) {
                source = {"/" + source.plain, "/" + source.text};
            }
            if (!is_writable_path(source.plain)) {
                return lose(own_.keyword + " of '" + printable(source.plain) + "'",
                            "a definition file cannot carry this path",
                            "rename the file",
                            words[i].at);
            }
        }
        if (!is_writable_path(to_.plain)) {
            return lose(own_.keyword + " to '" + printable(to_.plain) + "'",
                        "a definition file cannot carry this path",
                        "choose another place");
        }
        return true;
    }

    /// Sources are seen from the context's folder, however they begin.
    static void strip_root(Value& source) {
        for (auto* text : {&source.plain, &source.text}) {
            while (text->starts_with('/') || text->starts_with("./")) {
                text->erase(0, text->front() == '/' ? 1 : 2);
            }
            if (text->empty()) {
                *text = ".";
            }
        }
    }

    [[nodiscard]] bool is_address_among() const {
        return std::ranges::any_of(sources_,
                                   [](const Value& source) { return is_address(source.plain); });
    }

    [[nodiscard]] PathKind kind_of(const Value& source) const {
        if (!stage_.empty() || !file_.request.look) {
            return PathKind::kUnknown;
        }
        return file_.request.look(file_.request.file.parent_path() / source.plain);
    }

    /// `files` alone, where it means the same: nothing ran before, and whether a folder's content
    /// or the folder itself is copied does not depend on what is there.
    bool direct() {
        if (state_.has_steps || !owner_.empty() || is_hidden(to_.plain)) {
            return false;
        }
        std::vector<FileCopy> files;
        for (const Value& source : sources_) {
            auto file = direct_file(source);
            if (!file) {
                return false;
            }
            files.push_back(std::move(*file));
        }
        auto& list = state_.draft.files;
        list.insert(list.end(), files.begin(), files.end());
        return true;
    }

    [[nodiscard]] std::optional<FileCopy> direct_file(const Value& source) const {
        const PathKind kind = kind_of(source);
        if (has_pattern(source.plain) || (own_.keyword == "ADD" && is_archive(source.plain)) ||
            (!mode_.empty() && (kind != PathKind::kFile || !check_mode(mode_).because.empty()))) {
            return std::nullopt;
        }
        FileCopy file;
        file.from = source.text;
        file.to = to_.text;
        file.mode = mode_;
        file.stage = stage_;
        const std::string_view name = base_name(source.plain);
        if (source.plain == ".") {
            return file;
        }
        if (kind == PathKind::kFile) {
            file.to += into_ && !file.to.ends_with('/') ? "/" : "";
            return file;
        }
        if (!into_ && name == base_name(to_.plain) && name == base_name(to_.text) && name != "/") {
            file.to.resize(to_.text.rfind('/') + 1); // X to D/X is X into D, be it folder or file
            while (file.from.ends_with('/')) {
                file.from.pop_back();
            }
            return file;
        }
        if (kind == PathKind::kDirectory) {
            file.from += file.from.ends_with('/') ? "." : "/.";
            return file;
        }
        return std::nullopt;
    }

    /// The files wait in a place of their own until a step puts them where they belong, at the
    /// time and by the rules of the Dockerfile.
    void waiting() {
        const std::string place = std::string(kWaiting) + std::to_string(++state_.copies);
        bool has_whole = false;
        for (const Value& source : sources_) {
            const bool is_whole = source.plain == ".";
            has_whole = has_whole || is_whole;
            state_.draft.files.push_back(
                {source.text, is_whole ? place : place + "/", {}, stage_, {}});
            if (has_pattern(source.plain)) {
                file_.ledger.remark(own_.mark(),
                                    {"'" + printable(source.plain) + "'",
                                     "`*` skips names that begin with a dot",
                                     "name such files"});
            }
        }
        std::string run = "cd " + place + "\n";
        run += owner_.empty() ? "" : "chown -R " + shell_quote(owner_) + " .\n";
        run += mode_.empty() ? "" : "chmod -R " + shell_quote(mode_) + " .\n";
        run += has_whole && sources_.size() == 1 ? whole_lines() : each_lines();
        run += "cd /\nrm -rf " + place + "\n";
        add_step(state_, {run, "sh", "/", {own_.keyword + " " + own_.rest}});
    }

    [[nodiscard]] std::string whole_lines() const {
        const std::string to = shell_text(to_);
        return "mkdir -p " + to + "\ncp -a . " + to + "\n";
    }

    /// A line for each source, where it is known what they are; else empty.
    [[nodiscard]] std::string known_lines() const {
        const std::string to = shell_text(to_);
        std::string files;
        std::string folders;
        for (const Value& source : sources_) {
            const PathKind kind = kind_of(source);
            const std::string name(base_name(source.plain));
            if (kind == PathKind::kUnknown || has_pattern(source.plain) || name == "." ||
                name == ".." || name.starts_with('-') || source.plain.ends_with('/') ||
                source.text != source.plain ||
                (own_.keyword == "ADD" && is_archive(source.plain))) {
                return {};
            }
            std::string& lines = kind == PathKind::kDirectory ? folders : files;
            lines += "cp -a " + shell_quote(name) +
                     (kind == PathKind::kDirectory ? "/. " + to : " " + to + (into_ ? "/" : "")) +
                     "\n";
        }
        const std::string folder = into_ || !folders.empty() ? to : "\"$(dirname " + to + ")\"";
        return "mkdir -p " + folder + "\n" + folders + files;
    }

    [[nodiscard]] std::string each_lines() const {
        if (std::string known = known_lines(); !known.empty()) {
            return known;
        }
        const std::string to = shell_text(to_);
        const bool unpacks =
            own_.keyword == "ADD" && std::ranges::any_of(sources_, [](const Value& source) {
                return is_archive(source.plain);
            });
        std::string text =
            "for one in * .[!.]*; do\n    if [ -d \"$one\" ]; then\n        mkdir -p " + to +
            "\n        cp -a \"$one/.\" " + to + "\n";
        if (unpacks) {
            text += "    elif [ -e \"$one\" ]; then\n        mkdir -p " + to +
                    "\n        tar -xf \"$one\" -C " + to + "\n";
        } else if (into_) {
            text += "    elif [ -e \"$one\" ]; then\n        mkdir -p " + to +
                    "\n        cp -a \"$one\" " + to + "/\n";
        } else {
            text += "    elif [ -e \"$one\" ]; then\n        mkdir -p \"$(dirname " + to +
                    ")\"\n        cp -a \"$one\" " + to + "\n";
        }
        return text + "    fi\ndone\n";
    }

    /// COPY <<EOF /place
    bool documents() {
        std::size_t at = 0;
        std::string run;
        for (const auto& document : own_.heredocs) {
            std::string body = document.body;
            if (document.is_expanded) {
                const Expansion expansion =
                    expand_body(document.body, file_.escape, lookup_of(state_));
                if (!expansion.unknown.empty()) {
                    return lose("the file '" + printable(document.name) + "'",
                                "nothing in this file gives '" + expansion.unknown + "' a value",
                                "quote the word after `<<`, or write the value");
                }
                body = expansion.value.plain;
            }
            const std::string to =
                into_ ? to_.plain + (to_.plain.ends_with('/') ? "" : "/") + document.name
                      : to_.plain;
            run += "mkdir -p " +
                   shell_quote(to.substr(0, std::max<std::size_t>(to.rfind('/'), 1))) + "\n" +
                   write_file_lines(to, body);
            run +=
                mode_.empty() ? "" : "chmod " + shell_quote(mode_) + " " + shell_quote(to) + "\n";
            run +=
                owner_.empty() ? "" : "chown " + shell_quote(owner_) + " " + shell_quote(to) + "\n";
            ++at;
        }
        if (at != sources_.size()) {
            return lose(own_.keyword + " of both files and here-documents",
                        "their order cannot be preserved",
                        "write two instructions");
        }
        add_step(state_, {run, "sh", "/", {own_.keyword + " " + own_.rest}});
        return true;
    }

    /// ADD --checksum=sha256:… URL /place
    bool downloads() {
        const Value& source = sources_.front();
        const bool is_known = checksum_.starts_with("sha256:") &&
                              check_digest(checksum_).because.empty() && sources_.size() == 1;
        const bool is_plain =
            source.plain.starts_with("http://") || source.plain.starts_with("https://");
        if (!is_known || !is_plain || source.plain.ends_with(".git") ||
            source.plain.ends_with('/')) {
            const bool is_wrong = is_plain && !checksum_.empty() && sources_.size() == 1;
            return lose(own_.keyword + " of " + printable(source.plain),
                        !is_plain || is_known ? "the Recipe has no word for it"
                        : is_wrong ? "its checksum is not `sha256:` and 64 hexadecimal digits"
                                   : "what is downloaded must be known by its checksum",
                        is_wrong && !is_known
                            ? "write what `sha256sum` prints for the file that you trust"
                            : "add `--checksum=sha256:…`, or name it in `packages.source`");
        }
        if (row_of(state_) == nullptr) {
            return lose(own_.keyword + " of " + printable(source.plain),
                        "whether the base has curl is not known",
                        "name an image whose name states its distribution");
        }
        auto& needs = state_.draft.packages.needs;
        for (const auto* need : {"ca-certificates", "curl"}) {
            if (!contains(needs, need)) {
                needs.emplace_back(need);
            }
        }
        const std::string name(base_name(source.plain.substr(0, source.plain.find_first_of("?#"))));
        Value to = to_;
        if (into_) {
            to.plain += (to.plain.ends_with('/') ? "" : "/") + name;
            to.text += (to.text.ends_with('/') ? "" : "/") + literal(name);
        }
        const std::string place = shell_text(to);
        std::string run = "mkdir -p \"$(dirname " + place + ")\"\ncurl -fsSL --retry 3 -o " +
                          place + " " + shell_text(source) + "\necho '" + checksum_.substr(7) +
                          "  '" + place + " | sha256sum -c -\n";
        run += "chmod " + (mode_.empty() ? "600" : shell_quote(mode_)) + " " + place + "\n";
        run += owner_.empty() ? "" : "chown " + shell_quote(owner_) + " " + place + "\n";
        add_step(state_, {run, "sh", "/", {own_.keyword + " " + own_.rest}});
        return true;
    }

    const File& file_;
    const Instruction& own_;
    State& state_;
    std::string stage_;
    std::string owner_;
    std::string mode_;
    std::string checksum_;
    std::vector<Value> sources_;
    Value to_;
    bool into_ = false;
};

} // namespace

Value absolute(const State& state, const Value& path) {
    Value whole = path;
    if (!path.plain.starts_with('/')) {
        const bool is_root = state.workdir.plain == "/";
        whole = {state.workdir.plain + (is_root ? "" : "/") + path.plain,
                 state.workdir.text + (is_root ? "" : "/") + path.text};
    }
    std::string normal = std::filesystem::path(whole.plain).lexically_normal().native();
    while (normal.size() > 1 && normal.ends_with('/')) {
        normal.pop_back();
    }
    while (normal.starts_with("//")) {
        normal.erase(0, 1);
    }
    std::string text = whole.text;
    while (text.size() > 1 && text.ends_with('/')) {
        text.pop_back();
    }
    std::string plain = whole.plain;
    while (plain.size() > 1 && plain.ends_with('/')) {
        plain.pop_back();
    }
    return {normal, normal == plain ? text : literal(normal)};
}

void carry_copy(const File& file, const Instruction& instruction, State& state) {
    Copy(file, instruction, state).run();
}

} // namespace cybele::recipes::dockerfile
