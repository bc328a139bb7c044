// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "submission/backends/host.hpp"
#include "support/error.hpp"
#include "support/file.hpp"

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace cybele::bridge {

/// Reads files that grow for several processes in one round trip: each followed output has a
/// process of its own, and all that read by the same way as the same account name the same folder.
/// Who has its lock reads for all. One that is killed or stopped delays the others by seconds only.
class SharedReading {
public:
    struct Pace {
        std::chrono::milliseconds between{2'000};   ///< from one round trip to the next
        std::chrono::milliseconds patience{10'000}; ///< then a process reads for itself
    };

    SharedReading(submission::Host& host, std::filesystem::path folder)
        : SharedReading(host, std::move(folder), Pace()) {}
    SharedReading(submission::Host& host, std::filesystem::path folder, Pace pace);

    /// A piece of a file, at the next turn, with what the others ask for by then.
    [[nodiscard]] Result<submission::ReadBack> read(const submission::Reading& reading);

private:
    struct Ask {
        std::filesystem::path file;
        submission::Reading reading;
    };

    Result<submission::ReadBack> read_alone(const submission::Reading& reading);
    Result<submission::ReadBack> read_for_all(const Ask& own);
    [[nodiscard]] std::vector<Ask> asks_of_others(const Ask& own) const;
    void sleep_until_turn() const;

    submission::Host& host_;
    std::filesystem::path folder_;
    Pace pace_;
};

/// Where those meet who read by this way.
[[nodiscard]] std::filesystem::path folder_of_readings(const std::filesystem::path& sockets,
                                                       const std::string& way);

} // namespace cybele::bridge
