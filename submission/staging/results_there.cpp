// SPDX-License-Identifier: Apache-2.0
#include "submission/staging/conversation.hpp"
#include "submission/staging/destination.hpp"
#include "submission/staging/pieces.hpp"
#include "submission/staging/results.hpp"
#include "submission/staging/write_part.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace cybele::submission {
namespace {

namespace fs = std::filesystem;

/// Two lines a file: its name; the digest of what is here, size and digest of a part. Answers
/// `missing`, or `file SIZE DIGEST OFFSET MODE` and the bytes from the offset on; last `end`.
/// Each file is opened once: another user may exchange names between two looks. What was opened is
/// the file of that name below the folder, with no link on the way; or where the link in its place
/// leads, by links of the user or of root alone. A link that was put there within the last seconds
/// is waited for: a look at its owner and the next one at its target could be of two links.
constexpr std::string_view kFetch = R"sh(w=$(pwd -P) i=/proc/$$/fd/3 u=$(id -u)
w=${w%/}
calm() {
    for _ in 1 2 3; do
        b=$(stat -c '%u %i %Z' -- "$e/$c") && v=$(date +%s) || return 1
        [ "$((v - ${b##* }))" -lt 2 ] || return 0
        sleep 1
    done
    return 1
}
follow() {
    calm && t=$(readlink -- "$e/$c" && echo x) && [ "$(stat -c '%u %i %Z' -- "$e/$c")" = "$b" ] || return 1
    case ${b%% *} in 0 | "$u") ;; *) return 1 ;; esac
    t=${t%?x}
    r=$t${r:+/$r}
    case $t in /*) e= ;; esac
}
own() {
    f=$(readlink "$i") && [ -f "$i" ] || return 1
    e=$w/${p#./} j=0
    [ "$f" != "$e" ] || return 0
    r=${e##*/} e=${e%/*}
    [ "$(cd -P -- "$e/" && pwd -P)" = "${e:-/}" ] || return 1
    while [ -n "$r" ]; do
        c=${r%%/*}
        case $r in */*) r=${r#*/} ;; *) r= ;; esac
        case $c in
            '' | .) ;;
            ..) e=${e%/*} ;;
            *)
                if [ -L "$e/$c" ]; then
                    j=$((j + 1))
                    [ "$j" -le 40 ] && follow || return 1
                else
                    e=$e/$c
                fi
                ;;
        esac
    done
    [ "$e" = "$f" ]
}
give() {
    if ! own || ! y=$(sha256sum <"$i"); then
        return 1
    fi
    s=$(wc -c <"$i") y=${y%% *} o=0
    x=$(stat -L -c %a "$i") || return 1
    if [ "$y" = "$h" ]; then
        o=$s
    elif [ "$k" -gt 0 ] && [ "$k" -le "$s" ] && z=$(head -c "$k" "$i" | sha256sum) && [ "${z%% *}" = "$d" ]; then
        o=$k
    fi
    echo "$n file $((s)) $y $((o)) $x"
    [ "$o" -eq "$s" ] || tail -c "+$((o + 1))" "$i" | head -c "$((s - o))"
    return 0
}
while IFS= read -r p && read -r h k d; do
    [ -f "$p" ] && { give; } 3<"$p" || echo "$n missing"
done
echo "$n end"
)sh";

/// Octal, as `stat` prints it; of anything else, the owner's alone.
unsigned mode_of(std::string_view word) {
    constexpr int kOctal = 8;
    unsigned mode = 0;
    const char* const end = word.data() + word.size();
    const auto [last, error] = std::from_chars(word.data(), end, mode, kOctal);
    return error == std::errc() && last == end ? mode : 0;
}

/// What lies here under a result's name.
struct Own {
    fs::path file;
    PartialFile partial;
};

/// Takes the answer apart while it comes, and writes the files.
class Receiver {
public:
    Receiver(const std::string& nonce, const std::vector<std::string>& names, std::vector<Own> own)
        : prefix_(nonce + " "), names_(names), own_(std::move(own)) {}

    /// False: it has failed.
    bool take(std::string_view piece) {
        while (!piece.empty() && !failure_) {
            if (left_ > 0 && file_) {
                piece.remove_prefix(write(*file_, piece));
                continue;
            }
            const std::size_t end = piece.find('\n');
            line_ += piece.substr(0, end);
            if (end == std::string_view::npos) {
                break;
            }
            piece.remove_prefix(end + 1);
            read_line(std::exchange(line_, {}));
        }
        return !failure_;
    }

    [[nodiscard]] const std::optional<Error>& failure() const {
        return failure_;
    }
    [[nodiscard]] bool is_whole() const {
        return has_ended_ && files_.size() == names_.size();
    }
    [[nodiscard]] std::string refusal() const {
        return refusal_;
    }
    [[nodiscard]] std::vector<ResultFile> files() const {
        return files_;
    }

private:
    void read_line(const std::string& line) {
        const std::string_view rest =
            line.starts_with(prefix_) ? std::string_view(line).substr(prefix_.size()) : "";
        const auto words = words_of_line(rest);
        if (rest == "end") {
            has_ended_ = true;
        } else if (rest.starts_with("refused")) {
            refusal_ = words_behind(rest);
        } else if (rest == "missing" && files_.size() < names_.size()) {
            failure_ =
                Error(ErrorCode::kEnvironment,
                      problem("result-unreadable",
                              "the result " + printable(names_[files_.size()]) + " cannot be read"),
                      "it went away, or you may not read it there",
                      "look at it there, and collect again");
        } else if (words.size() == 5 && words[0] == "file" && files_.size() < names_.size()) {
            begin_file(words);
        } else {
            failure_ = changed();
        }
    }

    void begin_file(const std::vector<std::string_view>& words) {
        const auto size = count_of(words[1]).value_or(0);
        const auto offset = count_of(words[3]).value_or(0);
        const Own& own = own_[files_.size()];
        files_.push_back({names_[files_.size()], size, "sha256:" + std::string(words[2])});
        if (own.partial.digest == words[2]) {
            return;
        }
        if (offset > size) {
            failure_ = changed();
            return;
        }
        auto opened =
            PartFile::open(CopyFor::kCollection, own.file, offset, copied_mode(mode_of(words[4])));
        if (!opened) {
            failure_ = opened.error();
            return;
        }
        PartFile& file = file_.emplace(std::move(*opened));
        left_ = size - offset;
        if (left_ == 0) {
            end_file(file);
        }
    }

    /// Of `piece` what belongs to the file; its bytes.
    std::size_t write(PartFile& file, std::string_view piece) {
        const auto bytes =
            piece.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(left_, piece.size())));
        if (const auto done = file.write(bytes); !done) {
            failure_ = done.error();
            return bytes.size();
        }
        left_ -= bytes.size();
        if (left_ == 0) {
            end_file(file);
        }
        return bytes.size();
    }

    void end_file(PartFile& file) {
        const std::string digest = files_.back().digest.substr(std::string_view("sha256:").size());
        if (const auto done = file.finish(digest, files_.back().name); !done) {
            failure_ = done.error();
        }
        file_.reset();
    }

    [[nodiscard]] Error changed() const {
        return {ErrorCode::kEnvironment,
                problem("result-changed", "a result changed while it was fetched"),
                files_.empty() ? "the answer cannot be read"
                               : printable(files_.back().name) + " has become shorter",
                "collect again when nothing writes to it"};
    }

    std::string prefix_;
    const std::vector<std::string>& names_;
    std::vector<Own> own_;
    std::vector<ResultFile> files_;
    std::string line_;
    std::string refusal_;
    std::uint64_t left_ = 0;
    std::optional<PartFile> file_;
    bool has_ended_ = false;
    std::optional<Error> failure_;
};

class ResultsThere : public Results {
public:
    ResultsThere(SshLogin login, std::unique_ptr<Host> host, fs::path workdir)
        : login_(std::move(login)), host_(std::move(host)), workdir_(std::move(workdir)) {}

    Result<std::vector<ReadBack>> read(const std::vector<fs::path>& files) override {
        constexpr std::uint64_t kMost = std::uint64_t{16} << 20U;
        std::vector<Reading> readings;
        readings.reserve(files.size());
        for (const fs::path& file : files) {
            readings.push_back({file, 0, kMost});
        }
        CYBELE_TRY(Answers answers, host_->exchange({}, readings));
        return std::move(answers.files);
    }

    Result<std::vector<std::vector<std::string>>>
    list(const std::vector<std::string>& patterns) override {
        std::vector<Call> calls;
        calls.reserve(patterns.size());
        for (const std::string& pattern : patterns) {
            calls.push_back(find_call(pattern));
        }
        CYBELE_TRY(const Answers answers, host_->exchange(calls, {}));
        std::vector<std::vector<std::string>> found;
        for (std::size_t index = 0; index < patterns.size(); ++index) {
            found.push_back(names_in(answers.outcomes[index].output, patterns[index]));
        }
        return found;
    }

    Result<std::vector<ResultFile>> fetch(const std::vector<std::string>& names,
                                          const fs::path& into) override {
        const std::string nonce = new_nonce();
        std::string asked;
        std::vector<Own> owns;
        for (const std::string& name : names) {
            owns.push_back({into / name, partial_file(into / name)});
            const PartialFile& own = owns.back().partial;
            asked += fmt::format("./{}\n{} {} {}\n", name, own.digest, own.part, own.part_digest);
        }
        Receiver receiver(nonce, names, std::move(owns));
        Conversation talk{kFetch, workdir_, false, {}, {}};
        talk.more = [&asked] { return std::exchange(asked, {}); };
        talk.take = [&receiver](std::string_view piece) { return receiver.take(piece); };
        CYBELE_TRY(const Outcome outcome, converse(login_, nonce, talk));
        if (const auto& failure = receiver.failure()) {
            return fail(*failure);
        }
        if (!receiver.refusal().empty()) {
            return fail(
                ErrorCode::kEnvironment,
                problem("results-unreadable",
                        "cannot read " + printable(login_.name() + ":" + workdir_.native())),
                printable(receiver.refusal()),
                "see whether the folder is there still");
        }
        if (!receiver.is_whole()) {
            return fail(broken_off(login_, outcome, "files were fetched"));
        }
        return receiver.files();
    }

private:
    [[nodiscard]] Call find_call(const std::string& pattern) const {
        constexpr std::chrono::minutes kLong{10};
        Call call;
        const std::string root = root_of(pattern);
        call.argv = {"find",
                     root.empty() ? "." : "./" + root,
                     "-path",
                     "./.cybelectl",
                     "-prune",
                     "-o",
                     "(",
                     "-type",
                     "f",
                     "-o",
                     "-type",
                     "l",
                     "-exec", // a link of another user could lead to what the user alone may read
                     "sh",
                     "-c",
                     R"sh([ "$(stat -c %u -- "$1")" = "$(id -u)" ] && [ -f "$1" ])sh",
                     "sh",
                     "{}",
                     ";",
                     ")",
                     "-print0"};
        call.directory = workdir_;
        call.limit = kLong;
        return call;
    }

    /// Names that lead out of the workdir, or do not fit a line, are none.
    static std::vector<std::string> names_in(std::string_view output, const std::string& pattern) {
        std::vector<std::string> found;
        while (!output.empty()) {
            const std::size_t end = std::min(output.find('\0'), output.size());
            std::string name(output.substr(0, end));
            output.remove_prefix(std::min(end + 1, output.size()));
            name = name.starts_with("./") ? name.substr(2) : name;
            const fs::path path(name);
            if (path.is_relative() && path.lexically_normal() == path && *path.begin() != ".." &&
                name.find('\n') == std::string::npos && is_match(pattern, name)) {
                found.push_back(name);
            }
        }
        std::sort(found.begin(), found.end());
        return found;
    }

    SshLogin login_;
    std::unique_ptr<Host> host_;
    fs::path workdir_;
};

} // namespace

std::unique_ptr<Results>
results_there(const SshLogin& login, std::unique_ptr<Host> host, const fs::path& workdir) {
    return std::make_unique<ResultsThere>(login, std::move(host), workdir);
}

} // namespace cybele::submission
