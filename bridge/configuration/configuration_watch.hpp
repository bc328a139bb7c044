// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/configuration/configuration.hpp"
#include "support/error.hpp"

#include <chrono>
#include <optional>
#include <string>

namespace cybele::bridge {

/// Notices that the Bridge or its Site was changed while the service runs.
class ConfigurationWatch {
public:
    /// Of files as they were just read.
    explicit ConfigurationWatch(Configuration configuration);

    /// Looks at the files every ten seconds, and immediately when it is asked to. What they say now
    /// where that changed, or always when asked; an error once for each change that is not valid,
    /// after which the former configuration stays.
    [[nodiscard]] std::optional<Result<void>> look(std::chrono::milliseconds now, bool is_asked);

    /// The last valid one.
    [[nodiscard]] const Configuration& configuration() const {
        return configuration_;
    }

private:
    [[nodiscard]] std::string text_now() const;

    Configuration configuration_;
    std::string text_;
    std::chrono::milliseconds due_{0};
};

} // namespace cybele::bridge
