// SPDX-License-Identifier: Apache-2.0
#include "submission/staging/conversation.hpp"
#include "submission/staging/destination.hpp"
#include "submission/staging/pieces.hpp"
#include "submission/staging/write_part.hpp"
#include "support/file.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace cybele::submission {
namespace {

namespace fs = std::filesystem;

/// Two lines a file: its name; size and digest (`-`: a folder). Answers `same|other|folder PART
/// DIGEST`, and last `end FREE-KIBIBYTES`.
constexpr std::string_view kLook = R"sh([ -w . ] || { echo "$n refused Permission denied"; exit 1; }
f=$(df -Pk . 2>/dev/null | { read -r a; read -r a b c d e; echo "$d"; })
u=$(id -u)
while IFS= read -r p && read -r s h; do
    r=other k=0 d=-
    if [ "$h" = - ]; then
        [ ! -d "$p" ] || r=same
    elif [ -d "$p" ]; then
        r=folder
    elif [ -f "$p" ] && [ "$(wc -c <"$p")" -eq "$s" ] && x=$(sha256sum <"$p") && [ "${x%% *}" = "$h" ]; then
        r=same
    elif [ -f "$p.part" ] && [ ! -L "$p.part" ] && [ "$(stat -c '%u %h' "$p.part")" = "$u 1" ] &&
        x=$(sha256sum <"$p.part"); then
        k=$(wc -c <"$p.part") d=${x%% *}
    fi
    echo "$n $r $((k)) $d"
done
echo "$n end $f"
)sh";

/// Two lines a file, then its bytes: name; offset, count, size, digest, `x` or `-`. Answers `done`
/// for each, or `failed REASON`, `short` or `differs`, and last `end`.
/// Others may share the folder: links on the way belong to the user or to root (as in
/// open_folder_past_own_links()), and a part is a new file, or one of the user with a single name.
/// It is opened once, then checked, then written.
constexpr std::string_view kPut = R"sh(bad() { echo "$n $*"; exit 1; }
cd -P .
top=$PWD u=$(id -u) q=/proc/self/fd/4
enter() {
    cd -P "$top" || exit 1
    r=${1#.} r=${r#/}
    while [ -n "$r" ]; do
        d=${r%%/*} v=${PWD%/}
        case $r in */*) r=${r#*/} ;; *) r= ;; esac
        [ -d "./$d" ] || e=$(mkdir "./$d" 2>&1) || [ -d "./$d" ] || bad failed "$e"
        if [ -L "./$d" ]; then
            case $(stat -c %u "./$d") in 0 | "$u") ;; *) bad failed "$v/$d is a link of another user" ;; esac
            cd -P "./$d" || bad failed "$v/$d cannot be entered"
        else
            cd -P "./$d" && [ "$PWD" = "$v/$d" ] || bad failed "$v/$d cannot be entered"
        fi
    done
}
put() {
    [ "$(readlink $q) $(stat -L -c '%u %h' $q)" = "${PWD%/}/$1 $u 1" ] || { rm -f "./$1"; bad short; }
    e=$(head -c "$c" 2>&1 >&4) || bad failed "$e"
    [ "$(wc -c <$q)" -eq "$s" ] || bad short
    y=$(sha256sum <$q)
    if [ "${y%% *}" != "$h" ]; then
        rm -f "./$1"
        bad differs
    fi
    [ "$x" = - ] || chmod +x $q
    e=$(mv -fT "./$1" "./${1%.part}" 2>&1) || bad failed "$e"
}
while IFS= read -r p && read -r o c s h x; do
    if [ "$h" = - ]; then
        enter "$p"
        echo "$n done"
        continue
    fi
    enter "${p%/*}"
    p=${p##*/}.part
    if [ "$o" -eq 0 ]; then
        e=$(rm -f "./$p" 2>&1) && e=$( (set -C; : >"./$p") 2>&1) || bad failed "$e"
    fi
    { put "$p"; } 4>>"./$p" || bad failed "$PWD/$p cannot be opened"
    echo "$n done"
done
echo "$n end"
)sh";

/// What a program there said when it failed.
Error cause_there(std::string_view words) {
    Fault fault;
    fault.id = text::contains_any(words, {"No space left", "quota exceeded"}) ? "no-space" : "";
    fault.because = words;
    return Error(std::move(fault));
}

class DestinationThere : public Destination {
public:
    DestinationThere(SshLogin login, fs::path workdir)
        : login_(std::move(login)), workdir_(std::move(workdir)) {}

    Result<Inventory> look(const std::vector<StagedFile>& staged_files) override {
        const std::string nonce = new_nonce();
        std::string asked;
        for (const StagedFile& staged : staged_files) {
            asked += fmt::format("./{}\n{} {}\n", staged.target, staged.size, digest_word(staged));
        }
        std::string answer;
        Conversation talk{kLook, workdir_, true, {}, {}};
        talk.more = [&asked] { return std::exchange(asked, {}); };
        talk.take = [&answer](std::string_view piece) {
            answer += piece;
            return true;
        };
        CYBELE_TRY(const Outcome outcome, converse(login_, nonce, talk));
        return read_inventory(lines_of(answer, nonce), staged_files.size(), outcome);
    }

    Result<void> put(const std::vector<Upload>& uploads) override {
        const std::string nonce = new_nonce();
        Sender sender(uploads);
        std::string answer;
        Conversation talk{kPut, workdir_, true, {}, {}};
        talk.more = [&sender] { return sender.next(); };
        talk.take = [&answer](std::string_view piece) {
            answer += piece;
            return true;
        };
        CYBELE_TRY(const Outcome outcome, converse(login_, nonce, talk));
        if (const auto& failure = sender.failure()) {
            return fail(*failure);
        }
        const auto lines = lines_of(answer, nonce);
        const auto done = static_cast<std::size_t>(std::count(lines.begin(), lines.end(), "done"));
        if (!lines.empty() && lines.back() == "end" && done == uploads.size()) {
            return {};
        }
        return fail(failure_of(lines, done, uploads, outcome));
    }

private:
    static std::string digest_word(const StagedFile& staged) {
        return staged.digest.empty() ? "-" : staged.digest;
    }

    /// The files one after another, each behind its two lines.
    class Sender {
    public:
        explicit Sender(const std::vector<Upload>& uploads) : uploads_(uploads) {}

        std::string next() {
            if (left_ > 0) {
                return bytes();
            }
            if (at_ == uploads_.size() || failure_) {
                return {};
            }
            const Upload& upload = uploads_[at_++];
            const StagedFile& staged = *upload.staged;
            left_ = staged.size - upload.offset;
            if (left_ > 0) {
                auto opened = open_at(staged.source, upload.offset);
                if (!opened) {
                    failure_ = std::move(opened).error();
                    return {};
                }
                file_ = std::move(*opened);
            }
            return fmt::format("./{}\n{} {} {} {} {}\n",
                               staged.target,
                               upload.offset,
                               left_,
                               staged.size,
                               digest_word(staged),
                               staged.is_executable ? "x" : "-");
        }
        [[nodiscard]] const std::optional<Error>& failure() const {
            return failure_;
        }

    private:
        /// A file that has become shorter ends the stream: the other side sees that it is short.
        std::string bytes() {
            std::string piece = read_some(file_.get(), left_);
            left_ -= piece.size();
            if (piece.empty()) {
                const fs::path& source = uploads_[at_ - 1].staged->source;
                failure_ = differs_error(CopyFor::kSubmission, source.filename().native(), source);
            }
            return piece;
        }

        const std::vector<Upload>& uploads_;
        std::size_t at_ = 0;
        std::uint64_t left_ = 0;
        UniqueFd file_;
        std::optional<Error> failure_;
    };

    [[nodiscard]] std::string there(const std::string& file) const {
        return login_.name() + ":" + (workdir_ / file).native();
    }

    [[nodiscard]] Result<Inventory> read_inventory(const std::vector<std::string_view>& lines,
                                                   std::size_t count,
                                                   const Outcome& outcome) const {
        if (!lines.empty() && lines.back().starts_with("refused")) {
            return fail(write_error(CopyFor::kSubmission,
                                    login_.name() + ":" + workdir_.native(),
                                    cause_there(words_behind(lines.back()))));
        }
        if (lines.size() != count + 1 || !lines.back().starts_with("end")) {
            return fail(broken_off(login_, outcome, "it listed the existing files"));
        }
        Inventory inventory;
        for (std::size_t index = 0; index < count; ++index) {
            const auto words = words_of_line(lines[index]);
            if (words.size() != 3) {
                return fail(broken_off(login_, outcome, "it listed the existing files"));
            }
            inventory.staged_files.push_back({words[0] == "same",
                                              words[0] == "folder",
                                              count_of(words[1]).value_or(0),
                                              std::string(words[2])});
        }
        if (const auto kibibytes = count_of(words_behind(lines.back()))) {
            inventory.free = *kibibytes * 1024;
        }
        return inventory;
    }

    /// Which file it was, the count of those that are done says.
    [[nodiscard]] Error failure_of(const std::vector<std::string_view>& lines,
                                   std::size_t done,
                                   const std::vector<Upload>& uploads,
                                   const Outcome& outcome) const {
        constexpr std::array<std::string_view, 3> kBroken{"done", "short", "end"};
        if (lines.empty() || done >= uploads.size() || contains(kBroken, lines.back())) {
            return broken_off(login_, outcome, "files were copied");
        }
        const StagedFile& staged = *uploads[done].staged;
        if (lines.back() == "differs") {
            return differs_error(CopyFor::kSubmission, there(staged.target), staged.source);
        }
        return write_error(
            CopyFor::kSubmission, there(staged.target), cause_there(words_behind(lines.back())));
    }

    SshLogin login_;
    fs::path workdir_;
};

} // namespace

std::unique_ptr<Destination> destination_there(SshLogin login, const fs::path& workdir) {
    return std::make_unique<DestinationThere>(std::move(login), workdir);
}

} // namespace cybele::submission
