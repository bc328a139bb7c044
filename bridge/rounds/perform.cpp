// SPDX-License-Identifier: Apache-2.0
#include "bridge/rounds/perform.hpp"

#include <iterator>
#include <utility>

namespace cybele::bridge {
namespace {

/// Enough for claim, record and release; more would be a rule that goes in circles.
constexpr int kMostTurns = 12;

bool is_over(const Object& object) {
    return object.status.holds("Complete") || object.status.holds("Failed");
}

/// One object while its actions are carried out.
class Turn {
public:
    Turn(const Case& one, const RoundContext& sides, Batch& batch)
        : object_(one.object), view_(one.view), memory_(one.memory), world_(one.world),
          is_gone_(one.is_gone), server_(sides.server), cluster_(sides.cluster),
          index_(sides.index), batch_(batch) {}

    /// What was asked since the object's last turn in this round. Whether it decides something.
    bool take(const Answered& answered) {
        asked_ = answered.need;
        view_.accounted = answered.known.found.accounted;
        view_.output = answered.known.output;
        if (answered.need == Need::kWrite) {
            return take_write(answered);
        }
        set_record(answered.known.found.record);
        switch (answered.need) {
        case Need::kOutput:
            view_.output = answered.output;
            view_.output.was_asked = true; // an end is not late for its output
            return true;
        case Need::kSubmit:
            return take_receipt(answered.found.record);
        case Need::kTurn:
            return true;
        case Need::kInquiry:
            view_.accounted = answered.found.accounted;
            take_record(answered.found.record);
            return true;
        default:
            return take_record(answered.found.record);
        }
    }

    /// `is_news`: without them the object waits for the next round.
    Outcome run(bool is_news) {
        for (int turn = 0; is_news && turn < kMostTurns; ++turn) {
            outcome_.need = Need::kNothing;
            Decision decision = decide({object_, view_, memory_, world_, is_gone_});
            memory_ = decision.memory;
            outcome_.step = decision.step;
            is_news = carry_out(std::move(decision.actions), false);
        }
        outcome_.memory = memory_;
        outcome_.known = {{view_.accounted, view_.record}, view_.output, handed_};
        if (!is_forgotten_) {
            outcome_.object = object_;
        }
        return std::move(outcome_);
    }

private:
    /// Whether something is known now that was not: then it is decided again. Ends at a write.
    bool carry_out(std::vector<Action> actions, bool is_news) {
        for (auto action = actions.begin(); action != actions.end(); ++action) {
            if (outcome_.must_read || is_forgotten_) {
                return false; // what follows was decided on an older object
            }
            if (is_write(*action)) {
                outcome_.pause = Pause{std::move(*action),
                                       {std::make_move_iterator(std::next(action)),
                                        std::make_move_iterator(actions.end())},
                                       asked_};
                return false;
            }
            if (action->kind == Action::Kind::kForget) {
                is_forgotten_ = true;
            } else if (action->kind == Action::Kind::kEvent) {
                tell(action->event);
            } else {
                is_news = on_cluster(*action) || is_news;
            }
        }
        return is_news && !outcome_.must_read && !is_forgotten_;
    }

    /// Goes on where the turn was when it had to wait for its write.
    bool take_write(const Answered& answered) {
        asked_ = answered.pause.asked;
        if (answered.known.handed) {
            add_handed(*answered.known.handed, answered.known.found.record);
        } else {
            set_record(answered.known.found.record);
        }
        const bool was_over = is_over(object_);
        const bool is_news = carry_out(answered.pause.rest, take(answered.written));
        if (is_news && !was_over && is_over(object_)) {
            outcome_.need = Need::kTurn;
            return false;
        }
        return is_news;
    }

    bool on_cluster(const Action& action) {
        const std::string& account = view_.account;
        switch (action.kind) {
        case Action::Kind::kClose:
            return take_record(cluster_.search(object_, account, Claims::kClosed));
        case Action::Kind::kSearch:
            outcome_.need = Need::kSearch;
            return false;
        case Action::Kind::kInquire:
            outcome_.need = Need::kInquiry;
            return false;
        case Action::Kind::kSubmit:
            outcome_.need = Need::kSubmit;
            outcome_.attempt = action.attempt;
            return false;
        case Action::Kind::kRelease:
            add(batch_.releases, action.ids);
            return false;
        case Action::Kind::kCancel:
            add(batch_.cancels, action.ids);
            return false;
        case Action::Kind::kReadOutput:
            outcome_.need = Need::kOutput;
            return false;
        case Action::Kind::kCollect:
            return take_results(
                cluster_.collect(object_, view_.has_way ? account : std::string(), action.begun));
        case Action::Kind::kNoteOrphan:
            cluster_.note_orphan(object_, account);
            return false;
        default:
            return false;
        }
    }

    /// Who made the object reads why it waits; once, since it waits long.
    void tell_failure() {
        if (view_.record.failure.empty()) {
            const bool has_passed = view_.record.was_read && view_.account_failure.empty();
            memory_.has_told_failure = memory_.has_told_failure && !has_passed;
        } else if (!std::exchange(memory_.has_told_failure, true)) {
            tell({"ClusterUnavailable", view_.record.failure, true});
        }
    }

    void tell(const Action::Event& event) {
        Object subject;
        subject.kind = object_.kind;
        subject.form = object_.form;
        subject.space = object_.space;
        subject.name = object_.name;
        subject.uid = object_.uid;
        batch_.events.push_back({std::move(subject), event});
    }

    bool take_record(RecordObservation record) {
        set_record(std::move(record));
        tell_failure();
        return view_.record.was_read;
    }

    void set_record(RecordObservation record) {
        view_.record = std::move(record);
        if (!view_.record.answer.empty()) { // whose job the queue shows under this number
            const bool is_complete = view_.queue.is_complete;
            view_.queue = index_.seen_state_of(object_, view_.record.answer);
            view_.queue.is_complete = is_complete;
        }
    }

    /// A job that was handed over held a moment ago is held, although the poll is older than it.
    bool take_receipt(RecordObservation record) {
        if (record.answer.empty()) {
            view_.record = std::move(record);
            tell_failure();
            return !view_.record.refusal.empty();
        }
        SeenJob job;
        job.id = record.answer;
        job.owner = view_.account;
        job.token = object_.uid;
        job.state = submission::State::kHeld;
        add_handed(std::move(job), std::move(record));
        tell_failure();
        return true;
    }

    void add_handed(SeenJob job, RecordObservation record) {
        view_.record = std::move(record);
        view_.queue.jobs.push_back(job);
        handed_ = std::move(job);
    }

    bool take_results(std::optional<Collected> collected) {
        if (!collected) {
            return false;
        }
        memory_.is_collecting = false;
        Status status = object_.status;
        status.set(std::move(collected->condition));
        status.output = std::move(collected->output);
        status.tail = std::move(collected->tail);
        status.results = std::move(collected->files);
        status.results_count = collected->count;
        return take(server_.write_status(object_, status));
    }

    bool take(Written written) {
        if (written.kind == Written::Kind::kDone) {
            is_forgotten_ = !written.object;
            if (written.object) {
                object_ = std::move(*written.object);
                memory_.was_claimed = memory_.was_claimed || object_.has_finalizer();
            }
            return !is_forgotten_;
        }
        outcome_.must_read = true;
        return false;
    }

    void add(std::vector<Named>& jobs, const std::vector<std::string>& ids) const {
        for (const std::string& id : ids) {
            jobs.push_back({view_.account, id, object_.uid});
        }
    }

    Object object_;
    View view_;
    Memory memory_;
    const World& world_;
    bool is_gone_;
    Server& server_;
    Cluster& cluster_;
    const PollIndex& index_;
    Batch& batch_;
    Outcome outcome_;
    std::optional<SeenJob> handed_;
    Need asked_ = Need::kNothing;
    bool is_forgotten_ = false;
};

} // namespace

Outcome
perform(const Case& one, const RoundContext& sides, Batch& batch, const Answered* answered) {
    Turn turn(one, sides, batch);
    return turn.run(answered == nullptr || turn.take(*answered));
}

void perform_batch(const Batch& batch, const RoundContext& sides) {
    if (!batch.releases.empty()) {
        sides.cluster.release(batch.releases);
    }
    if (!batch.cancels.empty()) {
        sides.cluster.cancel(batch.cancels);
    }
    for (const ObjectEvent& told : batch.events) {
        sides.server.tell(told.object, told.event);
    }
}

} // namespace cybele::bridge
