// SPDX-License-Identifier: Apache-2.0
#include "cli/apptainer/architecture_flag.hpp"

#include "images/sif/sif.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"

#include <iterator>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cybele::cli {

namespace {

constexpr std::string_view kKnownArchitectures = "[arm arm64 amd64 386 ppc64le s390x riscv64]";

tl::unexpected<Error> refuse_architecture(const std::string& why) {
    return fail(ErrorCode::kInput,
                problem("apptainer-architecture-unknown",
                        "While processing the arch and arch variant: " + why));
}

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
        return refuse_architecture(
            fmt::format("arch: arm64{} is not valid, supported archs are: {}, supported "
                        "variants are [8], please remove --arch-variant option",
                        printable(variant),
                        kKnownArchitectures));
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
    if (!contains(kKnown, wanted)) {
        return refuse_architecture(fmt::format("arch: {} is not valid, supported archs are: {}",
                                               printable(wanted),
                                               kKnownArchitectures));
    }
    if (wanted == "arm") {
        return refuse_architecture(
            "arch: arm needs variant specification, supported variants are [5, 6, 7], "
            "please set --arch-variant option");
    }
    return wanted;
}

} // namespace cybele::cli
