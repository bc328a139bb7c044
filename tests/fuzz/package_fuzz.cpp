// SPDX-License-Identifier: Apache-2.0
#include "images/inspection/binary_text.hpp"
#include "images/inspection/inspect_json.hpp"
#include "images/inspection/labels.hpp"
#include "images/inspection/packages.hpp"
#include "tests/fuzz/checks.hpp"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

using namespace cybele;
using namespace cybele::fuzz;
using namespace cybele::images;

namespace {

void check_packages(const std::vector<Package>& packages) {
    for (const Package& one : packages) {
        must(!one.manager.empty() && !one.name.empty());
    }
}

void try_dpkg(std::string_view text) {
    check_packages(parse_dpkg_status(text));
}
void try_apk(std::string_view text) {
    check_packages(parse_apk_installed(text));
}
void try_python(std::string_view text) {
    check_packages(parse_python_metadata(text));
}
void try_conda(std::string_view text) {
    check_packages(parse_conda_record(text));
}
void try_rpm_header(std::string_view bytes) {
    check_packages(parse_rpm_header(bytes));
}
void try_rpm_database(std::string_view bytes) {
    if (const auto packages = parse_rpm_sqlite(std::string(bytes))) {
        check_packages(*packages);
    } else {
        check_refusal(packages.error());
    }
}

/// Labels and the inspection object: what is read is written, and read as the same.
void try_labels(std::string_view text) {
    if (const auto labels = parse_labels(text)) {
        const auto again = parse_labels(print_labels(*labels));
        must(again.has_value() && print_labels(*again) == print_labels(*labels));
    } else {
        check_refusal(labels.error());
    }
    if (const auto inspection = parse_inspection(text)) {
        const std::string written = print_inspection(*inspection);
        const auto again = parse_inspection(written);
        must(again.has_value() && print_inspection(*again) == written);
    } else {
        check_refusal(inspection.error());
    }
    (void)parse_release(text);
    (void)leading_version(text);
}

} // namespace

/// What an image's files say of its packages. The first byte chooses whose.
// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using Try = void (*)(std::string_view);
    constexpr Try kTries[] = {
        try_dpkg, try_apk, try_python, try_conda, try_rpm_header, try_rpm_database, try_labels};
    if (size > 0) {
        kTries[data[0] % std::size(kTries)]({reinterpret_cast<const char*>(data) + 1, size - 1});
    }
    return 0;
}
