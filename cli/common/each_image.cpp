// SPDX-License-Identifier: Apache-2.0
#include "cli/common/each_image.hpp"

#include "cli/common/image_store.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace cybele::cli {

namespace {

/// A signature that fails is worse than whatever else fails.
int badness(const Error& error) {
    constexpr int kWorst = 100;
    return error.code() == ErrorCode::kVerification ? kWorst : static_cast<int>(error.code());
}

} // namespace

std::string named(const std::vector<std::string>& images) {
    return images.size() == 1 ? "'" + images.front() + "'"
                              : fmt::format("{} images", images.size());
}

void EachImage::add(nlohmann::json entry) {
    entry.erase("format");
    entries_.push_back(std::move(entry));
    ++count_;
}

void EachImage::print(const std::string& line) const {
    if (!session_.is_json() && !session_.is_quiet) {
        Session::print(line + "\n");
    }
}

void EachImage::fail(const std::string& image, const Error& error, bool is_alone) {
    if (is_alone) {
        add({{"image", image}, {"error", error.message()}});
        print(fmt::format("{}: error: {}", printable(image), error.message()));
    }
    errors_.push_back(error);
}

Result<int> EachImage::end(const std::string& done) {
    if (session_.is_json()) {
        print_document({{"images", entries_}});
    }
    print(fmt::format("{} of {} images {}", count_ - errors_.size(), count_, done));
    if (errors_.empty()) {
        return 0;
    }
    std::stable_sort(errors_.begin(), errors_.end(), [](const Error& one, const Error& two) {
        return badness(one) > badness(two);
    });
    std::vector<Fault> faults;
    for (const Error& error : errors_) {
        faults.insert(faults.end(), error.faults().begin(), error.faults().end());
    }
    return cybele::fail(Error(std::move(faults)));
}

} // namespace cybele::cli
