// SPDX-License-Identifier: Apache-2.0
#include "images/inspection/facts.hpp"

#include "images/inspection/inspect.hpp"

#include <array>

namespace cybele::images {
namespace {

struct LabelledFact {
    const char* label;
    std::string ImageFacts::*member;
};
constexpr std::array kLabelledFacts = {
    LabelledFact{"cybelectl.mpi", &ImageFacts::mpi},
    LabelledFact{"cybelectl.pmi", &ImageFacts::pmi},
    LabelledFact{"cybelectl.mpi-probe", &ImageFacts::mpi_probe},
    LabelledFact{"cybelectl.libc", &ImageFacts::libc},
};

} // namespace

Result<ImageFacts> read_facts(const Image& image) {
    CYBELE_TRY(auto inspection, inspect_image(image));
    ImageFacts facts;
    facts.labels = std::move(inspection.labels);
    for (const auto& fact : kLabelledFacts) {
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
