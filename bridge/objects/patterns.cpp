// SPDX-License-Identifier: Apache-2.0
#include "bridge/objects/patterns.hpp"

#include "kubernetes/objects/names.hpp"

namespace cybele::bridge {
namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kBatch =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
constexpr std::size_t kLongestName = 63;

bool is_made_of(std::string_view text, std::string_view letters) {
    return text.find_first_not_of(letters) == std::string_view::npos;
}

} // namespace

bool is_batch_name(std::string_view text) {
    return !text.empty() && text.size() <= kLongestName && is_made_of(text, kBatch) &&
           text.front() != '-' && text.front() != '.';
}

bool is_job_id(std::string_view text) {
    constexpr std::size_t kLongestId = 253;
    const std::size_t number = text.find_first_not_of(kDigits);
    if (text.empty() || number == 0 || text.size() > kLongestId) {
        return false;
    }
    std::string_view rest = number == std::string_view::npos ? "" : text.substr(number);
    if (rest.starts_with('[')) {
        const std::size_t close = rest.find(']');
        if (close == std::string_view::npos || !is_made_of(rest.substr(1, close - 1), kDigits)) {
            return false;
        }
        rest.remove_prefix(close + 1);
    }
    return rest.empty() || (rest.starts_with('.') && is_made_of(rest, kBatch));
}

bool is_uid(std::string_view text) {
    constexpr std::string_view kShape = "00000000-0000-0000-0000-000000000000";
    if (text.size() != kShape.size()) {
        return false;
    }
    for (std::size_t at = 0; at < kShape.size(); ++at) {
        const bool is_hex = is_made_of(text.substr(at, 1), "0123456789abcdef");
        if (kShape[at] == '-' ? text[at] != '-' : !is_hex) {
            return false;
        }
    }
    return true;
}

bool is_object_place(std::string_view space, std::string_view name) {
    constexpr std::size_t kLongestObjectName = 253;
    return kubernetes::is_label_name(space) && !name.empty() && name.size() <= kLongestObjectName &&
           is_made_of(name, "abcdefghijklmnopqrstuvwxyz0123456789.-");
}

} // namespace cybele::bridge
