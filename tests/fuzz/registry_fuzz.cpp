// SPDX-License-Identifier: Apache-2.0
#include "registry/oci/challenge.hpp"
#include "registry/oci/manifest.hpp"
#include "registry/oci/reference.hpp"
#include "registry/store/name.hpp"
#include "tests/fuzz/checks.hpp"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

using namespace cybele;
using namespace cybele::fuzz;
using namespace cybele::registry;

namespace {

/// A manifest or an index: each digest that is read can name a file.
void try_manifest(std::string_view text) {
    const auto manifest = read_manifest(std::string(text), {});
    if (!manifest) {
        check_refusal(manifest.error());
        return;
    }
    must(manifest->bytes == text);
    for (const auto* list : {&manifest->layers, &manifest->manifests}) {
        for (const ContentDescriptor& one : *list) {
            must(one.digest.find('/') == std::string::npos &&
                 one.digest.find('.') == std::string::npos);
        }
    }
    if (const auto layer = sif_layer(*manifest, "fuzz"); !layer) {
        check_refusal(layer.error());
    }
    if (const auto entry = choose_platform(*manifest, "amd64", "fuzz"); !entry) {
        check_refusal(entry.error());
    }
}

/// A WWW-Authenticate header: schemes and parameters in lower case.
void try_challenges(std::string_view header) {
    const auto challenges = read_challenges(header);
    for (const Challenge& one : challenges) {
        for (const auto& [name, value] : one.parameters) {
            must(name.find_first_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") == std::string::npos);
        }
    }
    (void)choose_challenge(challenges);
}

/// What is asked next stays an address, and a login does not go to another host by its form alone.
void try_addresses(std::string_view text) {
    const std::string url = "https://registry.example/v2/a/tags/list";
    (void)resolve_location(text, url);
    (void)next_page(text, url);
    (void)kept_host(text);
    must(!is_same_origin(text, "https://registry.example") ||
         host_name(text) == "registry.example");
}

/// A name that is taken is read again, as it is written, as the same one.
void try_names(std::string_view text) {
    for (const auto& read : {read_reference(text), read_docker_reference(text)}) {
        if (!read) {
            check_refusal(read.error());
            continue;
        }
        const auto again = read->scheme == "docker://" ? read_docker_reference(read->text())
                                                       : read_reference(read->text());
        must(again.has_value() && again->text() == read->text());
    }
    (void)read_pull_reference(text, "library.example");
    (void)read_host(text);
    (void)read_store_argument(text);
    (void)read_new_name(text);
}

} // namespace

/// What a registry sends, and names of what it has. The first byte chooses the kind.
// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using Try = void (*)(std::string_view);
    constexpr Try kTries[] = {try_manifest, try_challenges, try_addresses, try_names};
    if (size > 0) {
        kTries[data[0] % std::size(kTries)]({reinterpret_cast<const char*>(data) + 1, size - 1});
    }
    return 0;
}
