// SPDX-License-Identifier: Apache-2.0
#include "bridge/configuration/configuration_watch.hpp"

#include "support/boot_time.hpp"
#include "support/file.hpp"

#include <utility>

namespace cybele::bridge {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{10'000};

} // namespace

ConfigurationWatch::ConfigurationWatch(Configuration configuration)
    : configuration_(std::move(configuration)), text_(text_now()),
      due_(boot_time() + kBetweenLooks) {}

/// Of both files; one that cannot be read is as an empty one.
std::string ConfigurationWatch::text_now() const {
    return read_file(configuration_.file).value_or(std::string()) + '\0' +
           read_file(configuration_.document.site).value_or(std::string());
}

std::optional<Result<void>> ConfigurationWatch::look(std::chrono::milliseconds now, bool is_asked) {
    if (now < due_ && !is_asked) {
        return std::nullopt;
    }
    due_ = now + kBetweenLooks;
    std::string text = text_now();
    if (text == text_ && !is_asked) {
        return std::nullopt;
    }
    text_ = std::move(text);
    auto read = read_configuration(configuration_.file);
    if (!read) {
        return Result<void>(tl::unexpected(std::move(read).error()));
    }
    configuration_ = std::move(*read);
    text_ = text_now(); // it may name another Site
    return Result<void>();
}

} // namespace cybele::bridge
