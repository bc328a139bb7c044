// SPDX-License-Identifier: Apache-2.0
#include "submission/local/plan.hpp"

#include "support/find.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>

namespace cybele::submission {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

/// Things that are counted; cores and GPUs are alike, so numbers decide.
struct Amount {
    std::uint64_t cores = 0;
    std::uint64_t memory = 0;
    std::uint64_t gpus = 0;

    [[nodiscard]] bool holds(const Amount& other) const {
        return cores >= other.cores && memory >= other.memory && gpus >= other.gpus;
    }
    void add(const Amount& other) {
        cores += other.cores;
        memory += other.memory;
        gpus += other.gpus;
    }
    void take(const Amount& other) {
        cores -= std::min(cores, other.cores);
        memory -= std::min(memory, other.memory);
        gpus -= std::min(gpus, other.gpus);
    }
};

Amount amount_of(const Machine& machine, const Demand& demand) {
    return {cores_needed(machine, demand), demand.memory, demand.gpus};
}

/// Memory of an unknown size is never short.
std::uint64_t memory_of(const Machine& machine) {
    return machine.memory == 0 ? std::numeric_limits<std::uint64_t>::max() / 2 : machine.memory;
}

/// A reservation for the first job that does not fit.
struct Reservation {
    std::int64_t at = kNever;
    Amount spare; ///< what nobody needs at that moment
};

class Table {
public:
    Table(const Machine& machine, const std::vector<RunningJob>& running, std::int64_t now)
        : machine_(machine), now_(now) {
        std::set<int> busy;
        std::set<int> busy_gpus;
        free_.memory = memory_of(machine);
        for (const RunningJob& job : running) {
            busy.insert(job.cpus.begin(), job.cpus.end());
            busy_gpus.insert(job.gpus.begin(), job.gpus.end());
            ++at_once_[job.array];
        }
        for (std::size_t core = 0; core < machine.cores.size(); ++core) {
            const auto& cpus = machine.cores[core].cpus;
            if (std::ranges::none_of(cpus, [&busy](int cpu) { return busy.contains(cpu); })) {
                cores_.push_back(core);
            }
        }
        std::copy_if(machine.gpus.begin(),
                     machine.gpus.end(),
                     std::back_inserter(gpus_),
                     [&busy_gpus](int gpu) { return !busy_gpus.contains(gpu); });
        for (const RunningJob& job : running) {
            const Amount amount{cores_of(job), job.memory, gpus_of(job)};
            free_.take({0, amount.memory, 0});
            ends_.emplace_back(job.end == 0 ? kNever : std::max(job.end, now), amount);
        }
        free_.cores = cores_.size();
        free_.gpus = gpus_.size();
    }

    Decision judge(const Waiting& job) {
        Decision decision;
        decision.reason = job.blocked;
        if (!job.blocked.empty()) {
            return decision;
        }
        if (job.most != 0 && at_once_[job.array] >= job.most) {
            decision.reason = "JobArrayTaskLimit";
            return decision;
        }
        const Amount wanted = amount_of(machine_, job.demand);
        const std::int64_t end = job.demand.seconds == 0 ? kNever : now_ + job.demand.seconds;
        if (!never_fits(machine_, job.demand).empty()) {
            decision.reason = "Resources"; // one that fitted when it was submitted
        } else if (free_.holds(wanted) && may_start(wanted, end)) {
            start(job, wanted, end, decision);
        } else if (reserved_) {
            decision.reason = "Priority";
        } else {
            reserved_ = reserve(wanted);
            decision.reason = "Resources";
            decision.expected = reserved_->at == kNever ? 0 : reserved_->at;
        }
        return decision;
    }

private:
    [[nodiscard]] std::uint64_t cores_of(const RunningJob& job) const {
        return static_cast<std::uint64_t>(
            std::ranges::count_if(machine_.cores, [&job](const Core& core) {
                return std::ranges::any_of(core.cpus,
                                           [&job](int cpu) { return contains(job.cpus, cpu); });
            }));
    }

    [[nodiscard]] std::uint64_t gpus_of(const RunningJob& job) const {
        return static_cast<std::uint64_t>(std::ranges::count_if(
            machine_.gpus, [&job](int gpu) { return contains(job.gpus, gpu); }));
    }

    /// In front of a reservation only what does not touch it.
    [[nodiscard]] bool may_start(const Amount& wanted, std::int64_t end) const {
        return !reserved_ || (reserved_->at != kNever && end <= reserved_->at) ||
               (reserved_->at == kNever && end != kNever) || reserved_->spare.holds(wanted);
    }

    void start(const Waiting& job, const Amount& wanted, std::int64_t end, Decision& decision) {
        decision.is_starting = true;
        for (std::uint64_t count = 0; count < wanted.cores; ++count) {
            const auto& cpus = machine_.cores[cores_.front()].cpus;
            decision.cpus.insert(decision.cpus.end(), cpus.begin(), cpus.end());
            cores_.erase(cores_.begin());
        }
        std::sort(decision.cpus.begin(), decision.cpus.end());
        decision.gpus.assign(gpus_.begin(),
                             gpus_.begin() + static_cast<std::ptrdiff_t>(wanted.gpus));
        gpus_.erase(gpus_.begin(), gpus_.begin() + static_cast<std::ptrdiff_t>(wanted.gpus));
        free_.take(wanted);
        ++at_once_[job.array];
        if (reserved_ && (end > reserved_->at || (end == kNever && reserved_->at == kNever))) {
            reserved_->spare.take(wanted);
        }
        ends_.emplace_back(end, wanted);
    }

    /// When what runs has, by its limits, left enough.
    [[nodiscard]] Reservation reserve(const Amount& wanted) const {
        auto ends = ends_;
        std::sort(ends.begin(), ends.end(), [](const auto& a, const auto& b) {
            return a.first < b.first;
        });
        Reservation reservation;
        Amount left = free_;
        for (std::size_t at = 0; at < ends.size() && ends[at].first != kNever; ++at) {
            left.add(ends[at].second);
            const bool is_last_of_moment =
                at + 1 == ends.size() || ends[at + 1].first != ends[at].first;
            if (is_last_of_moment && left.holds(wanted)) {
                reservation.at = ends[at].first;
                left.take(wanted);
                reservation.spare = left;
                break;
            }
        }
        return reservation;
    }

    const Machine& machine_;
    std::int64_t now_;
    std::vector<std::size_t> cores_; ///< free ones
    std::vector<int> gpus_;
    Amount free_;
    std::vector<std::pair<std::int64_t, Amount>> ends_;
    std::map<std::int64_t, std::uint64_t> at_once_;
    std::optional<Reservation> reserved_;
};

} // namespace

std::size_t cores_needed(const Machine& machine, const Demand& demand) {
    return demand.is_exclusive ? machine.cores.size()
                               : std::min<std::size_t>(demand.cpus, machine.cores.size());
}

std::string never_fits(const Machine& machine, const Demand& demand) {
    if (demand.cpus > machine.threads() && !demand.is_oversubscribed) {
        return "cpus";
    }
    if (demand.memory > memory_of(machine)) {
        return "memory";
    }
    return demand.gpus > machine.gpus.size() ? "gpus" : "";
}

std::vector<Decision> decide(const Machine& machine,
                             const std::vector<RunningJob>& running,
                             const std::vector<Waiting>& waiting,
                             std::int64_t now) {
    Table table(machine, running, now);
    std::vector<Decision> decisions;
    decisions.reserve(waiting.size());
    for (const Waiting& job : waiting) {
        decisions.push_back(table.judge(job));
    }
    return decisions;
}

} // namespace cybele::submission
