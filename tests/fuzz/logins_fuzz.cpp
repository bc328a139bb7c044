// SPDX-License-Identifier: Apache-2.0
#include "registry/oci/credentials.hpp"
#include "support/file.hpp"
#include "tests/fuzz/checks.hpp"
#include "tests/fuzz/scratch.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

using namespace cybele;
using namespace cybele::fuzz;
using namespace cybele::registry;

namespace {

const std::filesystem::path& fuzz_folder() {
    return scratch_folder("logins-fuzz");
}

} // namespace

/// A file of logins, as docker, podman and Apptainer write it. No credential program is found.
// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto file = fuzz_folder() / "config.json";
    must(write_file(file, text, 0600).has_value());
    const Environment nobody(
        EnvironmentMap{{"HOME", fuzz_folder().native()}, {"PATH", "/nonexistent"}});
    for (const char* host : {"registry.example:5000", "docker.io"}) {
        if (const auto found = find_login(host, "group/name", file, nobody); !found) {
            check_refusal(found.error());
        }
    }
    // What is put into a file that can be read is found there, and gone when it was erased.
    const Login mine{"me", "word: of mine", {}, {}};
    if (const auto written = write_login(file, "mine.example", mine); !written) {
        check_refusal(written.error());
        return 0;
    }
    const auto kept = find_kept_login("mine.example", file, nobody);
    must(kept.has_value());
    must(!*kept || ((*kept)->user == mine.user && (*kept)->password == mine.password));
    const auto erased = erase_login(file, "mine.example");
    must(erased.has_value());
    return 0;
}
