// SPDX-License-Identifier: Apache-2.0
#include "cli/help/advanced.hpp"

#include "support/find.hpp"

#include <iterator>

namespace cybele::cli {
namespace {

constexpr std::string_view kAdvanced[] = {
    "bridge accept", "bridge answer",  "bridge collect", "bridge forget", "bridge install",
    "bridge logs",   "bridge orphans", "bridge status",  "completion",    "config trust",
    "def print",     "image path",     "image tags",     "image tree",    "install-as",
    "job hold",      "job mirror",     "job release",    "job results",   "key export",
    "key import",    "kube crd",       "sif add",        "sif del",       "sif dump",
    "sif header",    "sif new",        "sif recover",    "sif setprim",
};

} // namespace

bool is_advanced(std::string_view command) {
    return contains(kAdvanced, command);
}

} // namespace cybele::cli
