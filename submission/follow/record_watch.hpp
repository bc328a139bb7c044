// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/file.hpp"

#include <filesystem>

namespace cybele::submission {

/// Wakes who follows jobs when the record of one is put in place by this machine (inotify). It only
/// makes waiting shorter: of what another machine writes, and where the kernel gives no more
/// watches, nothing comes. The kernel takes ten milliseconds and more to end a watch, so it is for
/// jobs of which nothing better tells the end.
class RecordWatch {
public:
    /// A job's record folder; one that is not there yet is passed over.
    void add(const std::filesystem::path& record);
    /// Readable when something came; negative where there is no such thing.
    [[nodiscard]] int fd() const {
        return fd_.get();
    }
    /// Takes what came: whether an exit.json is among it.
    [[nodiscard]] bool take();

private:
    UniqueFd fd_;
};

} // namespace cybele::submission
