// SPDX-License-Identifier: Apache-2.0
#include "submission/follow/follow.hpp"

#include "submission/follow/begun.hpp"
#include "submission/follow/log_reader.hpp"
#include "submission/follow/pacing.hpp"
#include "submission/follow/record_watch.hpp"
#include "submission/journal/array.hpp"
#include "support/random.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>

#include <poll.h>

namespace cybele::submission {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

constexpr Milliseconds kFirstLook{20};
constexpr Milliseconds kFirstOfLocal{100}; ///< most that a short job needs
constexpr Milliseconds kLongestLook{1000};
constexpr std::chrono::seconds kCancelAgain{10};
constexpr Milliseconds kAfterRecord{1000}; ///< then the scheduler knows why a script ended
constexpr int kPausePerQuestion = 8;       ///< at least, of what the last question needed

double chance() {
    constexpr double kMost = 255.0;
    return static_cast<double>(static_cast<unsigned char>(random_bytes(1).front())) / kMost;
}

/// One client's view of its jobs until they end.
class Follower {
public:
    Follower(JobContext& context,
             std::vector<Entry> entries,
             const FollowOptions& options,
             const SignalWatch& signals)
        : context_(context), options_(options), signals_(signals),
          pacing_(longest(entries, options)) {
        followed_.entries = std::move(entries);
        if (options.has_logs && !followed_.entries.empty() && !is_of_many()) {
            const Entry& first = followed_.entries.front();
            logs_.emplace_back(Stream::kOutput, LogReader(first.standard_output));
            if (first.standard_error != first.standard_output) {
                logs_.emplace_back(Stream::kErrors, LogReader(first.standard_error));
            }
        }
    }

    Result<Followed> run() {
        for (const Entry& entry : followed_.entries) {
            ends_.push_back(end_of(entry));
            has_ends_ = has_ends_ && ends_.back().valid();
            if (!ends_.back().valid() && entry.login.empty() &&
                (entry.array.empty() || entry.is_element) && entry.ended == 0) {
                records_.add(entry.record);
            }
        }
        if (options_.has_logs && is_of_many()) {
            const Entry& array = followed_.entries.front();
            tell_once("the output of an array is not shown; see `cybelectl job logs '" +
                      element_id(array.id, array_indices(array.array).front()) + "'`");
        }
        next_question_ = next_look_ = Clock::now();
        if (has_ends_) {
            next_question_ += kFirstOfLocal;
            look_ = options_.has_logs ? look_ : kLongestLook;
        }
        if (options_.is_cancelling) {
            CYBELE_CHECK(cancel());
        }
        while (!is_finished()) {
            CYBELE_CHECK(take_signals());
            if (followed_.asked_by != 0 && options_.longest_cancel &&
                Clock::now() >= asked_at_ + *options_.longest_cancel) {
                followed_.left_by = followed_.asked_by;
            }
            if (followed_.left_by != 0) {
                return followed_;
            }
            CYBELE_CHECK(step());
            if (!is_finished()) {
                wait();
            }
        }
        drain_logs();
        return followed_;
    }

private:
    /// Behind ssh logs come with the answers, so these come more often.
    static Milliseconds longest(const std::vector<Entry>& entries, const FollowOptions& options) {
        constexpr Milliseconds kOfLogs{5000};
        const bool is_remote = !entries.empty() && !entries.front().login.empty();
        return options.has_logs && is_remote ? std::min(options.longest, kOfLogs) : options.longest;
    }

    /// Whether the outputs are an array's: its elements have their own.
    [[nodiscard]] bool is_of_many() const {
        const auto& entries = followed_.entries;
        return !entries.empty() && !entries.front().array.empty() && !entries.front().is_element;
    }

    [[nodiscard]] bool is_finished() const {
        return std::ranges::all_of(followed_.entries,
                                   [](const Entry& entry) { return entry.ended != 0; });
    }

    UniqueFd end_of(const Entry& entry) {
        const auto backend = context_.backend(entry);
        return backend && entry.ended == 0 ? (*backend)->end_of(ref_of(entry)) : UniqueFd();
    }

    /// Asks the scheduler when its time has come, else looks at what lies on the disk.
    Result<void> step() {
        const std::vector<Entry> before = followed_.entries;
        const bool is_told = std::exchange(is_told_, false);
        const bool is_asking = Clock::now() >= next_question_;
        if (!is_told && !is_asking && Clock::now() < next_look_) {
            return {}; // something came that says nothing
        }
        if (is_told || !is_asking) { // the record of a job that ended lies there
            CYBELE_TRY(const Round round, look_at_records(context_, followed_.entries));
            if (round.is_unexplained && !std::exchange(is_unexplained_, true)) {
                pacing_.saw_change(); // not for each look: it may stay in the queue for days
                next_question_ = std::min(next_question_, Clock::now() + kAfterRecord);
            }
            look_at_logs();
        }
        if (is_asking && !is_finished()) {
            const auto began = Clock::now();
            CYBELE_CHECK(question());
            earliest_ = Clock::now() + (Clock::now() - began) * kPausePerQuestion;
            renew_ends();
        }
        next_look_ = Clock::now() + look_;
        look_ = std::min(look_ * 3 / 2, kLongestLook);
        for (std::size_t at = 0; at < before.size(); ++at) {
            const Entry& now = followed_.entries[at];
            if (options_.on_change &&
                (before[at].state != now.state || before[at].reason != now.reason)) {
                options_.on_change(now);
            }
        }
        return {};
    }

    Result<void> question() {
        std::vector<Reading> readings;
        readings.reserve(logs_.size() + 1);
        const bool has_logs_there = !logs_.empty() && !followed_.entries.front().login.empty();
        if (has_logs_there) {
            readings.push_back(mark_of_begin(followed_.entries.front())); // before the logs are
            for (auto& [stream, log] : logs_) {
                readings.push_back(log.next());
            }
        }
        std::vector<ReadBack> pieces;
        *context_.meanwhile = [this] { look_at_logs(); };
        const auto answered = ask(context_, followed_.entries, readings, &pieces);
        *context_.meanwhile = nullptr;
        CYBELE_TRY(const Round round, answered);
        pieces.resize(readings.size());
        look_at_logs();
        if (has_logs_there && may_show(pieces.front())) {
            for (std::size_t at = 0; at < logs_.size(); ++at) {
                give(logs_[at].first, logs_[at].second, pieces[at + 1], false);
            }
        }
        if (round.failure) {
            pacing_.saw_failure();
            tell_once(round.failure->message() + ": " + round.failure->faults().front().because +
                      "; asking again");
        } else if (round.has_changed) {
            pacing_.saw_change();
            told_.clear();
        } else {
            pacing_.saw_nothing();
            told_.clear();
        }
        next_question_ = Clock::now() + pacing_.pause(chance());
        if (followed_.asked_by != 0 || options_.is_cancelling) {
            CYBELE_CHECK(cancel_again());
        }
        return {};
    }

    /// Of an array, an element that runs now; between two of them it is asked again soon.
    void renew_ends() {
        for (std::size_t at = 0; at < ends_.size(); ++at) {
            const Entry& entry = followed_.entries[at];
            if (ends_[at].valid() || entry.array.empty() || entry.is_element) {
                continue;
            }
            ends_[at] = end_of(entry);
            if (!ends_[at].valid() && has_ends_ && entry.ended == 0) {
                next_question_ =
                    std::min(next_question_, std::max(earliest_, Clock::now() + look_));
            }
        }
    }

    void tell_once(const std::string& words) {
        if (told_ != words && options_.on_word) {
            options_.on_word(words);
        }
        told_ = words;
    }

    void give(Stream stream, LogReader& log, const ReadBack& piece, bool is_last) {
        const std::string lines = log.take(piece, Clock::now(), is_last);
        if (log.was_cut() && options_.on_word) {
            options_.on_word(log.file().native() +
                             " was cut or replaced: it is shown from its start");
        }
        if (!lines.empty() && options_.on_output) {
            options_.on_output(stream, lines);
        }
    }

    /// What lies on this machine is read at any time; behind ssh it comes with the answers.
    void look_at_logs() {
        if (!followed_.entries.empty() && followed_.entries.front().login.empty()) {
            read_logs(false);
        }
    }

    void drain_logs() {
        read_logs(true);
    }

    [[nodiscard]] std::optional<ReadBack> read(const Reading& reading) {
        const auto backend = context_.backend(followed_.entries.front());
        auto pieces = backend ? (*backend)->read({reading}) : Result<std::vector<ReadBack>>();
        return pieces && !pieces->empty() ? std::optional(std::move(pieces->front()))
                                          : std::nullopt;
    }

    void read_logs(bool is_last) {
        if (logs_.empty() ||
            (!has_begun_ &&
             !may_show(read(mark_of_begin(followed_.entries.front())).value_or(ReadBack())))) {
            return;
        }
        for (auto& [stream, log] : logs_) {
            do {
                const auto piece = read(log.next());
                if (!piece) {
                    return;
                }
                give(stream, log, *piece, is_last);
            } while (log.has_more());
        }
    }

    /// Whether the logs are the job's own yet.
    bool may_show(const ReadBack& mark) {
        const Entry& entry = followed_.entries.front();
        const auto now = Clock::now();
        if (entry.state == State::kRunning && !running_since_) {
            running_since_ = now;
        }
        has_begun_ =
            has_begun_ || has_begun(entry, mark.exists, now - running_since_.value_or(now));
        return has_begun_;
    }

    Result<void> take_signals() {
        for (int number = signals_.take().value_or(0); number != 0;
             number = signals_.take().value_or(0)) {
            if (number == SIGHUP || !options_.cancels_on_signal || followed_.asked_by != 0) {
                followed_.left_by = number;
                return {};
            }
            followed_.asked_by = number;
            asked_at_ = Clock::now();
            if (options_.on_word) {
                options_.on_word("cancelling; press again to leave immediately");
            }
            CYBELE_CHECK(cancel());
        }
        return {};
    }

    /// Writes down that it is wanted, then asks; a scheduler that does not answer is asked again.
    Result<void> cancel() {
        std::vector<Entry> wanted;
        for (Entry& entry : followed_.entries) {
            if (entry.ended == 0 && !entry.id.empty()) {
                entry.cancel_asked = context_.now();
                wanted.push_back(entry);
            }
        }
        CYBELE_TRY(const std::vector<Error> refusals, ask_to_cancel(context_, wanted));
        for (const Error& refusal : refusals) {
            tell_once(refusal.message() + ": " + refusal.faults().front().because);
        }
        cancelled_at_ = Clock::now();
        pacing_.saw_change();
        look_ = kFirstLook;
        next_question_ = Clock::now() + kFirstLook * 5;
        return {};
    }

    Result<void> cancel_again() {
        if (Clock::now() < cancelled_at_ + kCancelAgain || is_finished()) {
            return {};
        }
        return cancel();
    }

    /// Until something may have happened: a signal, the end of a local job, or time.
    void wait() {
        std::vector<pollfd> waits{{signals_.fd(), POLLIN, 0}, {records_.fd(), POLLIN, 0}};
        constexpr std::size_t kOthers = 2;
        for (const UniqueFd& end : ends_) {
            waits.push_back({end.get(), POLLIN, 0}); // negative ones are passed over
        }
        const auto until = std::min(next_question_, next_look_);
        const auto left = std::chrono::ceil<Milliseconds>(until - Clock::now()).count();
        ::poll(waits.data(), waits.size(), static_cast<int>(std::max<std::int64_t>(left, 0)));
        if (waits[1].revents != 0 && records_.take()) {
            next_look_ = Clock::now();
        }
        for (std::size_t at = 0; at < ends_.size(); ++at) {
            if (waits[at + kOthers].revents != 0) {
                ends_[at].reset();
                is_told_ = true;
                look_ = kFirstLook;
                next_question_ = std::min(next_question_, std::max(Clock::now(), earliest_));
            }
        }
    }

    JobContext& context_;
    const FollowOptions& options_;
    const SignalWatch& signals_;
    Pacing pacing_;
    Followed followed_;
    std::vector<std::pair<Stream, LogReader>> logs_;
    std::vector<UniqueFd> ends_;
    RecordWatch records_;         ///< of the jobs whose end does not come by itself
    bool has_ends_ = true;        ///< the end of each job comes by itself
    bool is_told_ = false;        ///< that a job has ended
    bool is_unexplained_ = false; ///< a script was told to end, and the scheduler was asked why
    Clock::time_point next_question_;
    Clock::time_point earliest_; ///< for a question after the end of an element
    Clock::time_point next_look_;
    bool has_begun_ = false; ///< the job whose logs are shown
    std::optional<Clock::time_point> running_since_;
    Clock::time_point cancelled_at_;
    Clock::time_point asked_at_;
    Milliseconds look_ = kFirstLook;
    std::string told_;
};

} // namespace

Result<Followed> follow(JobContext& context,
                        std::vector<Entry> entries,
                        const FollowOptions& options,
                        const SignalWatch& signals) {
    return Follower(context, std::move(entries), options, signals).run();
}

Result<bool> await_resolution(JobContext& context, Entry& entry, const SignalWatch& signals) {
    Pacing pacing(std::chrono::seconds(10));
    while (true) {
        const auto known = resolve(context, entry);
        if (known && *known) {
            return true;
        }
        if (known) {
            pacing.saw_nothing();
        } else {
            pacing.saw_failure();
            if (context.now() >= entry.asked + kSearchSeconds) {
                return fail(known.error());
            }
        }
        pollfd waits{signals.fd(), POLLIN, 0};
        if (::poll(&waits, 1, static_cast<int>(pacing.pause(chance()).count())) > 0) {
            return false;
        }
    }
}

} // namespace cybele::submission
