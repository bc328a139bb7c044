// SPDX-License-Identifier: Apache-2.0
#include "images/container.hpp"

#include <array>

namespace cybele::images {
namespace {

struct Fact {
    const char* label;
    std::string ImageFacts::*member;
};
constexpr std::array kFacts = {
    Fact{"cybelectl.mpi", &ImageFacts::mpi},
    Fact{"cybelectl.pmi", &ImageFacts::pmi},
    Fact{"cybelectl.mpi-probe", &ImageFacts::mpi_probe},
    Fact{"cybelectl.libc", &ImageFacts::libc},
};

} // namespace

Result<ImageFacts> read_facts(const Image& image) {
    CYBELE_TRY(auto inspection, inspect_image(image));
    ImageFacts facts;
    facts.labels = std::move(inspection.labels);
    for (const auto& fact : kFacts) {
        const auto found = facts.labels.find(fact.label);
        if (found != facts.labels.end()) {
            facts.*fact.member = found->second;
        }
    }
    CYBELE_TRY(const auto partition, image.primary_partition());
    facts.architecture = partition.arch();
    return facts;
}

} // namespace cybele::images
