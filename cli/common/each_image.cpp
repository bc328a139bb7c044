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

/// Two images that are refused for what is not theirs: a server, a login, a key. The messages name
/// the images; what must be done is the same.
bool is_same_reason(const Error& one, const Error& two) {
    const auto& left = one.faults();
    const auto& right = two.faults();
    return left.size() == right.size() &&
           std::equal(left.begin(), left.end(), right.begin(), [](const Fault& a, const Fault& b) {
               return a.code == ErrorCode::kEnvironment && a.id == b.id && a.because == b.because &&
                      a.help == b.help && !a.where && !b.where;
           });
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
    const auto same = std::ranges::find_if(
        failures_, [&error](const Failure& known) { return is_same_reason(known.error, error); });
    const bool is_repeated = same != failures_.end();
    if (is_alone) {
        add({{"image", image}, {"error", error.message()}});
        print(fmt::format("{}: error: {}",
                          printable(image),
                          is_repeated ? "the same as for " + printable(same->image)
                                      : error.message()));
    }
    ++failed_;
    if (is_repeated) {
        ++same->others;
    } else {
        failures_.push_back({image, error, 0});
    }
}

void EachImage::skip(const std::string& image) {
    add({{"image", image}, {"error", "not tried"}});
    print(printable(image) + ": not tried");
    ++failed_;
}

Result<int> EachImage::end(const std::string& done) {
    if (session_.is_json()) {
        print_document({{"images", entries_}});
    }
    print(fmt::format("{} of {} images {}", count_ - failed_, count_, done));
    if (failures_.empty()) {
        return 0;
    }
    std::stable_sort(
        failures_.begin(), failures_.end(), [](const Failure& one, const Failure& two) {
            return badness(one.error) > badness(two.error);
        });
    std::vector<Fault> faults;
    for (const Failure& failure : failures_) {
        for (Fault fault : failure.error.faults()) {
            if (failure.others != 0) {
                fault.because += fmt::format("{}the same holds for {} other image{}",
                                             fault.because.empty() ? "" : "; ",
                                             failure.others,
                                             failure.others == 1 ? "" : "s");
            }
            faults.push_back(std::move(fault));
        }
    }
    return cybele::fail(Error(std::move(faults)));
}

} // namespace cybele::cli
