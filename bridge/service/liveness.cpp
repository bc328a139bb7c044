// SPDX-License-Identifier: Apache-2.0
#include "bridge/service/liveness.hpp"

#include "support/file.hpp"
#include "support/quote.hpp"

#include <system_error>

namespace cybele::bridge {
namespace {

constexpr std::chrono::milliseconds kBetweenBeats{10'000};
constexpr std::chrono::minutes kLongestSilence{5};

std::filesystem::path pulse_file(const ServiceRequest& request) {
    return request.sockets.parent_path() /
           ("bridge-" + request.configuration.document.name + ".alive");
}

} // namespace

Liveness::Liveness(const ServiceRequest& request) : file_(pulse_file(request)) {}

void Liveness::beat(std::chrono::milliseconds now) {
    if (now < due_) {
        return;
    }
    due_ = now + kBetweenBeats;
    constexpr unsigned kOwnersOnly = 0600;
    std::error_code error;
    std::filesystem::create_directories(file_.parent_path(), error);
    (void)write_file(file_, "alive\n", kOwnersOnly); // the probe says what is missing
}

Result<void> check_liveness(const ServiceRequest& request) {
    const std::filesystem::path file = pulse_file(request);
    std::error_code error;
    const auto written = std::filesystem::last_write_time(file, error);
    if (!error && std::filesystem::file_time_type::clock::now() - written <= kLongestSilence) {
        return {};
    }
    return fail(ErrorCode::kEnvironment,
                problem("bridge-not-alive", "no `bridge run` works on this machine"),
                printable(file.native()) + (error ? " cannot be read: " + error.message()
                                                  : " was not renewed within five minutes"),
                "start it with the same configuration, as the same user: cybelectl bridge run");
}

} // namespace cybele::bridge
