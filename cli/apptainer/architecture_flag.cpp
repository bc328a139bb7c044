// SPDX-License-Identifier: Apache-2.0
#include "cli/apptainer/architecture_flag.hpp"

#include "images/sif/sif.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cybele::cli {

namespace {

Result<std::string> refuse_variant(const std::string& what) {
    return fail(ErrorCode::kEnvironment,
                problem("apptainer-option-not-supported", "--arch-variant is not supported"),
                what);
}

/// 7, the one that is chosen without a variant, too.
Result<std::string> read_arm_variant(const std::string& variant) {
    const std::string number = variant.starts_with('v') ? variant.substr(1) : variant;
    if (number == "7") {
        return std::string("arm");
    }
    if (number == "5" || number == "6") {
        return refuse_variant("of the variants of arm, only v7 is pulled");
    }
    return fail(ErrorCode::kInput,
                problem("apptainer-architecture-unknown",
                        "arch: arm32v" + printable(number) + " is not valid"),
                "the variants of arm are 5, 6 and 7",
                "write --arch arm --arch-variant 7");
}

/// Of the other architectures: arm64 has v8, which is chosen anyhow.
Result<void> check_variant(const std::string& architecture, const std::string& variant) {
    if (architecture != "arm64") {
        CYBELE_CHECK(refuse_variant("images are pulled for one architecture, without variants"));
    } else if (variant != "v8" && variant != "8") {
        return fail(ErrorCode::kInput,
                    problem("apptainer-architecture-unknown",
                            "arch: arm64" + printable(variant) + " is not valid"),
                    "the variant of arm64 is v8",
                    "leave --arch-variant out");
    }
    return {};
}

} // namespace

Result<std::string> read_architecture(const OtherCall& call) {
    constexpr std::string_view kKnown[] = {
        "386", "amd64", "arm", "arm64", "mips64le", "ppc64le", "riscv64", "s390x"};
    std::string wanted = call.value("--arch");
    const std::string variant = call.value("--arch-variant");
    if (wanted == "arm" && !variant.empty()) {
        return read_arm_variant(variant);
    }
    if (call.verb->verb == "pull" && !variant.empty()) {
        CYBELE_CHECK(check_variant(wanted, variant));
    }
    if ((wanted.empty() && !call.has("--arch")) || wanted == images::host_architecture()) {
        return std::string();
    }
    if (std::find(std::begin(kKnown), std::end(kKnown), wanted) == std::end(kKnown)) {
        return fail(ErrorCode::kInput,
                    problem("apptainer-architecture-unknown",
                            "arch: " + printable(wanted) + " is not valid"),
                    fmt::format("the architectures are {}", fmt::join(kKnown, ", ")),
                    "write --arch arm64");
    }
    if (wanted == "arm") {
        return fail(ErrorCode::kInput,
                    problem("apptainer-architecture-variant", "arm needs variant specification"),
                    "its variants are not supported",
                    "pull it by `cybelectl image pull --arch arm`");
    }
    return wanted;
}

} // namespace cybele::cli
