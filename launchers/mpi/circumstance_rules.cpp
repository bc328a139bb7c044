// SPDX-License-Identifier: Apache-2.0
#include "launchers/mpi/rules.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <iterator>

#include <fmt/format.h>

namespace cybele::compatibility {
namespace {

using enum Circumstance;
using enum Outcome;
using enum Source;

// Seen with two ranks of Open MPI 4.1.4 on both sides, one node.
constexpr Rule kVader{
    "circumstance/openmpi-4-user",
    kWorksWithOptions,
    kRan,
    "ranks in user namespaces of their own may not copy from each other's memory "
    "(\"Read -1, expected N, errno = 1\" before 4.0.2)",
    "set the variables, or join the ranks in one namespace",
    {{{"OMPI_MCA_btl_vader_single_copy_mechanism", "none"}, {"UCX_TLS", "^cma"}}}};
constexpr Rule kSmsc{"circumstance/openmpi-5-user",
                     kWorksWithOptions,
                     kDoc,
                     "ranks in user namespaces of their own may not copy from each other's memory; "
                     "Open MPI 5 does it in its part smsc",
                     "set the variables, or join the ranks in one namespace",
                     {{{"OMPI_MCA_smsc", "^cma"}, {"UCX_TLS", "^cma"}}}};
constexpr Rule kUcxCma{
    "circumstance/mpich-user",
    kWorksWithOptions,
    kDoc,
    "ranks in user namespaces of their own may not copy from each other's memory, "
    "and UCX does not notice (\"process_vm_readv ... not permitted\")",
    "set the variable, or join the ranks in one namespace",
    {{{"UCX_TLS", "^cma"}, {"UCX_POSIX_USE_PROC_LINK", "n"}, {}}}};
// Seen with two ranks of MPICH 5.0 and UCX, each in a container of an ordinary user.
constexpr Rule kCh4Cma{
    "circumstance/mpich-5-user",
    kWorksWithOptions,
    kRan,
    "ranks in user namespaces of their own may not copy from each other's memory, and MPICH 5 "
    "aborts: its own shared memory tries it, and UCX opens files of the other by /proc/PID/fd",
    "set the variables, or join the ranks in one namespace",
    {{{"MPIR_CVAR_CH4_CMA_ENABLE", "0"}, {"UCX_TLS", "^cma"}, {"UCX_POSIX_USE_PROC_LINK", "n"}}}};
constexpr Rule kPid{"circumstance/pid",
                    kAborts,
                    kRan,
                    "files of shared memory are named by process id, and two ranks have the same "
                    "(segmentation fault in mca_btl_vader_sendi, exit code 139)",
                    "drop --pid and --containall"};
constexpr Rule kIpc{
    "circumstance/ipc", kWorks, kRan, "shared memory is in files, not in System V segments", {}};
constexpr Rule kNet{"circumstance/net",
                    kAborts,
                    kRan,
                    "the launcher's PMIx server cannot be reached (\"OPAL ERROR: Unreachable in "
                    "file ext3x_client.c\")",
                    "drop --net: share the host's network"};
constexpr Rule kUts{"circumstance/uts", kWorks, kRan, "another host name does no harm", {}};
constexpr Rule kTmp{"circumstance/tmp",
                    kWorksWithOptions,
                    kRan,
                    "the launcher's files in /tmp are not seen (\"PMIX ERROR ... "
                    "gds_ds12_lock_pthread.c\"), and PMIx has to send what is in them",
                    "bind /tmp, or set the variable",
                    {{{"PMIX_MCA_gds", "hash"}, {}}}};
constexpr Rule kShm{"circumstance/shm",
                    kWorks,
                    kRan,
                    "ranks on a node fall back to slower ways, with a help text",
                    "bind /dev/shm"};
constexpr Rule kCleared{"circumstance/environment",
                        kSingletons,
                        kRan,
                        "the launcher passes variables to the ranks (PMIX_, PMI_, OMPI_): without "
                        "them each rank says 0 of 1, with exit code 0",
                        "drop --cleanenv and --containall"};
constexpr Rule kDescriptors{"circumstance/descriptors",
                            kAborts,
                            kSource,
                            "PMI-2 talks through an open descriptor that ranks inherit (PMI_FD)",
                            "use a runtime that keeps descriptors open"};
constexpr Rule kMunge{"circumstance/munge",
                      kWorksWithOptions,
                      kDoc,
                      "the launcher's PMIx names munge first, which the image lacks (\"Framework: "
                      "psec, Component: munge\")",
                      "set the variable, or install munge's library in the image",
                      {{{"PMIX_MCA_psec", "native"}, {}}}};
constexpr Rule kHang{"circumstance/apptainer-pmi2",
                     kUnknown,
                     kRan,
                     "all ranks of MPICH 4.0.2 said the right thing, and then the step hung until "
                     "its limit of time",
                     "use an mpirun of MPICH, or set a limit of time and try"};

constexpr CircumstanceRow kCircumstanceRows[] = {
    {kOwnUserNamespace, "openmpi", {"3", "4"}, false, kVader},
    {kOwnUserNamespace, "openmpi", {"5", {}}, false, kSmsc},
    {kOwnUserNamespace, "mpich", {{}, "4"}, false, kUcxCma},
    {kOwnUserNamespace, "mpich", {"5", {}}, false, kCh4Cma},
    {kOwnUserNamespace, "mvapich", {}, false, kUcxCma},
    {kOwnPidNamespace, {}, {}, false, kPid},
    {kOwnIpcNamespace, {}, {}, false, kIpc},
    {kOwnNetNamespace, {}, {}, false, kNet},
    {kOwnUtsNamespace, {}, {}, false, kUts},
    {kPrivateTmp, "openmpi", {}, false, kTmp},
    {kPrivateShm, {}, {}, false, kShm},
    {kClearedEnvironment, {}, {}, false, kCleared},
    {kClosedDescriptors, {}, {}, true, kDescriptors},
    {kMungeDemanded, "openmpi", {}, false, kMunge},
    {kApptainerWithUserns, "mpich", {}, true, kHang},
};

struct OptionRow {
    constexpr OptionRow(std::string_view name, std::initializer_list<Circumstance> list)
        : option(name), count(list.size()) {
        std::ranges::copy(list, brings.begin());
    }
    std::string_view option;
    std::array<Circumstance, 4> brings{};
    std::size_t count;
};
constexpr OptionRow kOptions[] = {
    {"--userns", {kOwnUserNamespace, kApptainerWithUserns}},
    {"--pid", {kOwnPidNamespace}},
    {"--ipc", {kOwnIpcNamespace}},
    {"--net", {kOwnNetNamespace}},
    {"--uts", {kOwnUtsNamespace}},
    {"--contain", {kPrivateTmp, kPrivateShm}},
    {"--cleanenv", {kClearedEnvironment}},
    {"--containall", {kPrivateTmp, kPrivateShm, kClearedEnvironment, kOwnPidNamespace}},
};

constexpr std::array<std::string_view, 11> kCircumstanceTexts{"user namespace a rank",
                                                              "own pid namespace",
                                                              "own ipc namespace",
                                                              "own network",
                                                              "own host name",
                                                              "private /tmp",
                                                              "private /dev/shm",
                                                              "cleared environment",
                                                              "closed descriptors",
                                                              "munge at the launcher",
                                                              "Apptainer --userns"};

/// Whether a circumstance that only a user's wish brings about keeps ranks from each other.
bool is_harmful(Circumstance circumstance) {
    return circumstance != kOwnUserNamespace &&
           std::ranges::any_of(kCircumstanceRows, [&](const CircumstanceRow& row) {
               return row.circumstance == circumstance && !row.is_for_pmi2 &&
                      row.rule.outcome != kWorks;
           });
}

} // namespace

std::vector<std::string> misleading_settings() {
    std::vector<std::string> names;
    for (const std::string_view prefix : {"APPTAINER", "SINGULARITY"}) {
        for (const OptionRow& row : kOptions) {
            const auto brought = circumstances_of(row.option);
            if (std::ranges::any_of(brought, is_harmful)) {
                names.push_back(fmt::format("{}_{}", prefix, text::uppered(row.option.substr(2))));
            }
        }
    }
    return names;
}

std::span<const CircumstanceRow> circumstance_rows() {
    return kCircumstanceRows;
}

std::span<const Circumstance> circumstances_of(std::string_view runtime_option) {
    for (const OptionRow& row : kOptions) {
        if (row.option == runtime_option) {
            return std::span(row.brings).first(row.count);
        }
    }
    return {};
}

std::string_view circumstance_text(Circumstance circumstance) {
    return kCircumstanceTexts[static_cast<std::size_t>(circumstance)];
}

} // namespace cybele::compatibility
