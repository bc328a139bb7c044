// SPDX-License-Identifier: Apache-2.0
#include "submission/backends/pbs.hpp"
#include "support/text.hpp"

#include <algorithm>

namespace cybele::submission {
namespace {

/// OpenPBS and PBS Pro show finished jobs, from their history, with `-x` alone. Where they keep no
/// history, `-x` shows no job at all, not even one that runs, and the code is 0.
class Pbspro : public Pbs {
public:
    [[nodiscard]] std::vector<Call>
    instead_of(const std::vector<Call>& calls,
               const std::vector<Outcome>& outcomes) const override {
        const bool has_history = std::ranges::none_of(outcomes, [](const Outcome& outcome) {
            return text::contains_any(outcome.errors, {"not configured to maintain job history"});
        });
        std::vector<Call> plain = has_history ? std::vector<Call>() : calls;
        for (Call& call : plain) {
            std::erase(call.argv, "-x");
        }
        return plain;
    }

protected:
    [[nodiscard]] std::vector<std::string> qstat() const override {
        return {"qstat", "-x", "-f"};
    }
    [[nodiscard]] schedulers::Reader reader() const override {
        return schedulers::Reader::kPbspro;
    }
    /// OpenPBS refuses an array that must not be run again.
    [[nodiscard]] std::vector<std::string> qsub(const launchers::Job& job) const override {
        return job.array.empty() ? std::vector<std::string>{"qsub", "-r", "n"}
                                 : std::vector<std::string>{"qsub"};
    }
    [[nodiscard]] char before_index() const override {
        return '.';
    }
};

} // namespace

std::unique_ptr<Commands> pbspro_commands() {
    return std::make_unique<Pbspro>();
}

} // namespace cybele::submission
