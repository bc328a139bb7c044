// SPDX-License-Identifier: Apache-2.0
#include "runtime/containers/limits.hpp"

#include "support/characters.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

namespace cybele::runtime {
namespace {

constexpr std::int64_t kPeriod = 100'000; // microseconds
constexpr std::int64_t kNano = 1'000'000'000;
constexpr std::int64_t kLeastWeight = 10;
constexpr std::int64_t kMostWeight = 1000;
constexpr std::size_t kMostLimitsFile = std::size_t{1} << 20U;

/// A value that each option accepts.
struct LimitExample {
    std::string_view option;
    std::string_view value;
};
constexpr LimitExample kLimitExamples[] = {{"--cpus", "0.5"},
                                           {"--blkio-weight", "500"},
                                           {"--blkio-weight-device", "/dev/sda:500"},
                                           {"--cpu-shares", "512"},
                                           {"--cpuset-cpus", "0"},
                                           {"--cpuset-mems", "0"},
                                           {"--pids-limit", "100"}};

std::string example_of(std::string_view option) {
    for (const LimitExample& example : kLimitExamples) {
        if (example.option == option) {
            return std::string(example.value);
        }
    }
    return "4G"; // the others are sizes
}

tl::unexpected<Error> refuse_limit(std::string_view option,
                                   const std::string& value,
                                   std::string because,
                                   std::string detail = {}) {
    return fail(ErrorCode::kUsage,
                problem("limit-value",
                        std::string(option) + ": '" + printable(value) + "' is not valid",
                        std::move(detail))
                    .about(value),
                std::move(because),
                fmt::format("write for example `{} {}`", option, example_of(option)));
}

/// Digits, and with a point some more: in units of 1/kNano. Nothing for any other text.
std::optional<std::int64_t> parse_decimal(std::string_view text) {
    const std::size_t point = std::min(text.find('.'), text.size());
    std::string_view fraction = text.substr(std::min(point + 1, text.size()));
    const bool has_digits = text.find_first_of("0123456789") != std::string_view::npos;
    std::int64_t integer = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + point, integer);
    const bool is_integer = point == 0 || (failed == std::errc() && end == text.data() + point);
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / kNano - 1;
    if (!has_digits || !is_integer || text.front() == '-' || integer > kMost ||
        fraction.find_first_not_of("0123456789") != std::string_view::npos) {
        return std::nullopt;
    }
    std::int64_t parts = 0;
    std::int64_t unit = kNano / 10;
    for (; !fraction.empty() && unit > 0; fraction.remove_prefix(1), unit /= 10) {
        parts += (fraction.front() - '0') * unit;
    }
    return integer * kNano + parts;
}

/// The number times 2 to the power of `shift`, rounded down: no floating point, which is not exact
/// above 2^53. Nothing for what is no number, or is not below 2^63.
std::optional<std::int64_t> shifted_decimal(std::string_view text, unsigned shift) {
    const std::size_t point = std::min(text.find('.'), text.size());
    std::string_view fraction = text.substr(std::min(point + 1, text.size()));
    constexpr std::string_view kDigits = "0123456789";
    std::int64_t integer = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + point, integer);
    const bool is_integer = point == 0 || (failed == std::errc() && end == text.data() + point);
    if (text.find_first_of(kDigits) == std::string_view::npos || !is_integer ||
        integer > (std::numeric_limits<std::int64_t>::max() >> shift) ||
        fraction.find_first_not_of(kDigits) != std::string_view::npos) {
        return std::nullopt;
    }
    std::int64_t parts = 0; // of `unit`
    std::int64_t unit = 1;
    for (const char digit : fraction.substr(0, 18)) {
        parts = parts * 10 + (digit - '0');
        unit *= 10;
    }
    for (unsigned bit = 0; bit < shift; ++bit) {
        integer = integer * 2 + parts * 2 / unit;
        parts = parts * 2 % unit;
    }
    return integer;
}

/// "512", "512m", "1.5 GiB": bytes, in units of 1024.
std::optional<std::int64_t> parse_memory(std::string_view text) {
    constexpr std::string_view kUnits = "kmgtp";
    const std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
    std::string unit;
    for (const char c : text.substr(end)) {
        unit += to_lower(c);
    }
    if (unit.starts_with(' ')) {
        unit.erase(0, 1);
    }
    unsigned shift = 0;
    if (const std::size_t power = unit.empty() ? std::string_view::npos : kUnits.find(unit.front());
        power != std::string_view::npos) {
        shift = 10 * static_cast<unsigned>(power + 1);
        unit.erase(0, 1);
        if (unit.starts_with("i")) {
            unit.erase(0, 1);
        }
    }
    return unit.empty() || unit == "b" ? shifted_decimal(text.substr(0, end), shift) : std::nullopt;
}

/// Bytes of an option, unless it is empty.
Result<void>
take_memory(std::optional<std::int64_t>& into, std::string_view option, const std::string& text) {
    if (text.empty()) {
        return {};
    }
    into = parse_memory(text);
    if (!into) {
        return refuse_limit(
            option, text, "a size is a number of bytes, or one with K, M, G or T", "size");
    }
    return {};
}

/// How many CPUs this process may use.
std::int64_t usable_cpus() {
    cpu_set_t set;
    CPU_ZERO(&set);
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

Result<void> take_cpus(Limits& limits, const std::string& text) {
    constexpr std::int64_t kLeast = kNano / 100;
    if (text.empty()) {
        return {};
    }
    const auto nano = parse_decimal(text);
    if (!nano || *nano < kLeast || *nano > usable_cpus() * kNano) {
        return refuse_limit("--cpus",
                            text,
                            "it is a number between 0.01 and the " + std::to_string(usable_cpus()) +
                                " CPUs that can be used here",
                            "cpus");
    }
    limits.period = kPeriod;
    limits.quota = *nano / (kNano / kPeriod);
    return {};
}

Result<void> take_device_weight(Limits& limits, const std::string& text) {
    const std::size_t colon = text.find(':');
    const std::string device = text.substr(0, colon);
    const auto weight = colon == std::string::npos
                            ? std::nullopt
                            : parse_decimal(std::string_view(text).substr(colon + 1));
    if (!weight || *weight % kNano != 0 || *weight / kNano < kLeastWeight ||
        *weight / kNano > kMostWeight) {
        return refuse_limit(
            "--blkio-weight-device", text, "it is DEVICE:WEIGHT, 10 to 1000", "weight");
    }
    struct stat status = {};
    if (stat(device.c_str(), &status) != 0 || !S_ISBLK(status.st_mode)) {
        return refuse_limit(
            "--blkio-weight-device", text, "'" + printable(device) + "' is not a block device");
    }
    limits.devices.push_back({major(status.st_rdev),
                              minor(status.st_rdev),
                              "",
                              static_cast<std::uint64_t>(*weight / kNano)});
    return {};
}

/// "0-3,8": what cpuset(7) calls the list format.
Result<void> check_list(std::string_view option, const std::string& text) {
    if (text.find_first_not_of("0123456789,-") != std::string::npos) {
        return refuse_limit(option, text, "a list is numbers and ranges: 0-3,8");
    }
    return {};
}

/// The linear scale of the OCI runtimes, from the weights of version 1 to those of version 2.
std::int64_t weight_of_shares(std::int64_t shares) {
    constexpr std::int64_t kLeast = 2;
    constexpr std::int64_t kMost = 262'144;
    return 1 + (std::clamp(shares, kLeast, kMost) - kLeast) * 9999 / (kMost - kLeast);
}

std::int64_t io_weight(std::int64_t weight) {
    return 1 + (weight - kLeastWeight) * 9999 / (kMostWeight - kLeastWeight);
}

std::string limit_text(std::int64_t value) {
    return value < 0 ? "max" : std::to_string(value);
}

/// Swap before memory: the kernel holds to both while they change.
Result<void> add_memory(std::vector<LimitSetting>& settings, const Limits& limits) {
    if (limits.swap) {
        const std::int64_t memory = limits.memory.value_or(0);
        if (*limits.swap >= 0 && memory <= 0) {
            return fail(ErrorCode::kUsage,
                        problem("limit-swap", "--memory-swap needs --memory"),
                        "it limits memory and swap together",
                        "add --memory");
        }
        if (*limits.swap >= 0 && *limits.swap < memory) {
            return fail(ErrorCode::kUsage,
                        problem("limit-swap", "--memory-swap is less than --memory"),
                        "it limits memory and swap together",
                        "write at least the size of --memory");
        }
        const std::int64_t swap = *limits.swap < 0 ? -1 : *limits.swap - memory;
        settings.push_back({"memory", "memory.swap.max", limit_text(swap), "--memory-swap"});
    }
    if (limits.memory) {
        settings.push_back({"memory", "memory.max", limit_text(*limits.memory), "--memory"});
    }
    if (limits.reservation) {
        settings.push_back(
            {"memory", "memory.low", limit_text(*limits.reservation), "--memory-reservation"});
    }
    return {};
}

void add_cpu(std::vector<LimitSetting>& settings, const Limits& limits) {
    if (limits.shares) {
        settings.push_back({"cpu",
                            "cpu.weight",
                            std::to_string(weight_of_shares(*limits.shares)),
                            "--cpu-shares"});
    }
    if (limits.quota || limits.period) {
        const std::int64_t quota = limits.quota.value_or(-1);
        settings.push_back({"cpu",
                            "cpu.max",
                            limit_text(quota == 0 ? -1 : quota) + " " +
                                std::to_string(limits.period.value_or(kPeriod)),
                            "--cpus"});
    }
    if (!limits.cpus.empty()) {
        settings.push_back({"cpuset", "cpuset.cpus", limits.cpus, "--cpuset-cpus"});
    }
    if (!limits.mems.empty()) {
        settings.push_back({"cpuset", "cpuset.mems", limits.mems, "--cpuset-mems"});
    }
}

void add_io(std::vector<LimitSetting>& settings, const Limits& limits) {
    if (limits.weight) {
        settings.push_back({"io",
                            "io.weight",
                            std::to_string(io_weight(*limits.weight)),
                            "--blkio-weight",
                            "io.bfq.weight",
                            std::to_string(*limits.weight)});
    }
    for (const DeviceLimit& one : limits.devices) {
        const std::string device =
            std::to_string(one.major) + ":" + std::to_string(one.minor) + " ";
        if (one.key.empty()) {
            settings.push_back(
                {"io",
                 "io.weight",
                 device + std::to_string(io_weight(static_cast<std::int64_t>(one.value))),
                 "--blkio-weight-device",
                 "io.bfq.weight",
                 device + std::to_string(one.value)});
        } else {
            settings.push_back({"io",
                                "io.max",
                                device + std::string(one.key) + "=" + std::to_string(one.value),
                                "--apply-cgroups"});
        }
    }
}

} // namespace

Result<Limits> read_limits(const LimitRequest& request) {
    if (!request.file.empty()) {
        LimitRequest others = request;
        others.file.clear();
        if (!others.is_empty()) {
            return fail(
                ErrorCode::kUsage,
                problem("limit-file-and-flags", "--apply-cgroups cannot be used with other limits"),
                "the file sets all of them",
                "leave one of both out");
        }
        auto read = read_file(request.file, kMostLimitsFile);
        if (!read && read.error().faults().front().id == "file-missing") {
            return fail(ErrorCode::kInput,
                        problem("limit-file-missing", "no such file: " + printable(request.file))
                            .about(request.file),
                        "--apply-cgroups names the file with the limits",
                        "check the name and the folder that it is relative to");
        }
        CYBELE_TRY(const std::string text, std::move(read));
        return parse_limits(text, request.file);
    }
    Limits limits;
    CYBELE_CHECK(take_memory(limits.memory, "--memory", request.memory));
    CYBELE_CHECK(
        take_memory(limits.reservation, "--memory-reservation", request.memory_reservation));
    if (request.memory_swap == "-1") {
        limits.swap = -1;
    } else {
        CYBELE_CHECK(take_memory(limits.swap, "--memory-swap", request.memory_swap));
    }
    CYBELE_CHECK(take_cpus(limits, request.cpus));
    CYBELE_CHECK(check_list("--cpuset-cpus", request.cpuset_cpus));
    CYBELE_CHECK(check_list("--cpuset-mems", request.cpuset_mems));
    limits.cpus = request.cpuset_cpus;
    limits.mems = request.cpuset_mems;
    if (request.cpu_shares > 0) {
        limits.shares = request.cpu_shares;
    }
    if (request.pids < -1) {
        return refuse_limit("--pids-limit", std::to_string(request.pids), "-1 means no limit");
    }
    if (request.pids != 0) {
        limits.pids = request.pids;
    }
    if (request.weight > 0) {
        if (request.weight < kLeastWeight || request.weight > kMostWeight) {
            return refuse_limit(
                "--blkio-weight", std::to_string(request.weight), "it is 10 to 1000", "weight");
        }
        limits.weight = request.weight;
    }
    for (const std::string& one : request.device_weights) {
        CYBELE_CHECK(take_device_weight(limits, one));
    }
    return limits;
}

Result<std::vector<LimitSetting>> limit_settings(const Limits& limits) {
    std::vector<LimitSetting> settings;
    CYBELE_CHECK(add_memory(settings, limits));
    add_cpu(settings, limits);
    if (limits.pids) {
        settings.push_back({"pids", "pids.max", limit_text(*limits.pids), "--pids-limit"});
    }
    add_io(settings, limits);
    for (const auto& [file, text] : limits.unified) {
        settings.push_back({file.substr(0, file.find('.')), file, text, "--apply-cgroups"});
    }
    return settings;
}

Result<std::vector<LimitSetting>> limit_settings(const LimitRequest& request) {
    if (request.is_empty()) {
        return std::vector<LimitSetting>();
    }
    CYBELE_TRY(const Limits limits, read_limits(request));
    CYBELE_TRY(std::vector<LimitSetting> settings, limit_settings(limits));
    for (LimitSetting& one : settings) {
        one.option = request.file.empty() ? one.option : "--apply-cgroups";
    }
    return settings;
}

} // namespace cybele::runtime
