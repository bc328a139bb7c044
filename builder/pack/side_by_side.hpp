// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder/pack/stage.hpp"
#include "builder/processes/helper_process.hpp"

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

/// Which stages a build makes, and in which order.
namespace cybele::builder {

/// What a stage still has to do.
struct StageNeed {
    bool is_needed = false; ///< its tree: for the image, or for a stage that is needed
    std::vector<std::size_t> copies_from; ///< in those of its steps whose result is not kept
};

/// From the image's stage backwards: a stage is needed where a step that must run copies from it,
/// or where nothing tells its result before it is made. `kept` says of a stage how many of its
/// first steps' results are kept.
[[nodiscard]] std::vector<StageNeed> find_needs(const BuildPlan& plan,
                                                const std::vector<StageKeys>& keys,
                                                const std::vector<std::size_t>& kept);

/// The stages before the image's: each starts when those are done that it copies from, as many at a
/// time as the request allows. When all have started, the image's own may begin; a stage that it
/// copies from is waited for at that step (StageContext::put_off). With one at a time each is made
/// when its turn comes.
class SideBySide {
public:
    SideBySide(StageContext& context, std::vector<StageNeed> needs)
        : context_(context), needs_(std::move(needs)), helpers_(needs_.size()) {}

    [[nodiscard]] Result<void> start();

private:
    [[nodiscard]] bool is_done(std::size_t stage) const;
    [[nodiscard]] bool is_ready(std::size_t stage) const;
    [[nodiscard]] std::size_t running() const;
    [[nodiscard]] Result<void> start_one(std::size_t stage);
    [[nodiscard]] Result<void> wait_for_one();

    StageContext& context_;
    std::vector<StageNeed> needs_;
    std::vector<std::optional<HelperProcess>> helpers_;
};

} // namespace cybele::builder
