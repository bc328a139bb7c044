// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/common/session.hpp"

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace cybele::cli {

/// "'app.sif'", or "5 images".
std::string named(const std::vector<std::string>& images);

/// A verb that is given several images: a line for each, all errors at the end, and the exit code
/// of the worst.
class EachImage {
public:
    explicit EachImage(const Session& session) : session_(session) {}

    /// What --format json shows of an image.
    void add(nlohmann::json entry);
    /// A line, in text.
    void print(const std::string& line) const;
    /// An image that the verb refuses. `is_alone`: it has neither an entry nor a line. A reason
    /// that several have is reported once.
    void fail(const std::string& image, const Error& error, bool is_alone = true);
    /// An image that is not tried, since the one before it failed for what is not its own.
    void skip(const std::string& image);
    /// "5 images verified", and the exit code: all errors, those of the worst image first.
    [[nodiscard]] Result<int> end(const std::string& done);

private:
    struct Failure {
        std::string image;
        Error error;
        std::size_t others = 0; ///< images with the same reason
    };

    const Session& session_;
    nlohmann::json entries_ = nlohmann::json::array();
    std::vector<Failure> failures_;
    std::size_t failed_ = 0;
    std::size_t count_ = 0;
};

} // namespace cybele::cli
