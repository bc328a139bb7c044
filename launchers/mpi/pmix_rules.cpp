// SPDX-License-Identifier: Apache-2.0
#include "launchers/mpi/rules.hpp"

namespace cybele::compatibility {
namespace {

using enum Outcome;
using enum Source;

constexpr Rule kUsock{"pmix/client-1",
                      kAborts,
                      kDoc,
                      "a PMIx 1 client asks for a kind of socket that servers from PMIx 3 on no "
                      "longer have",
                      "use an Open MPI of 3.1 or later in the image"};
constexpr Rule kBefore{"pmix/client-before-2.1",
                       kUnknown,
                       kDoc,
                       "PMIx promises that versions understand each other from 2.1 on",
                       "use an Open MPI of 3.1 or later in the image, or keep the guard on"};
constexpr Rule kOldServer{
    "pmix/server-before-2.1",
    kUnknown,
    kDoc,
    "the launcher's PMIx is older than 2.1, from which on versions understand "
    "each other",
    "use a newer Open MPI or srun on the host, or keep the guard on"};
constexpr Rule kSeen{"pmix/server-4",
                     kWorks,
                     kRan,
                     "PMIx clients 4.0.0, 4.2.2, 5.0.7 and 7.0rc1 reach a server of 4.2.2",
                     {}};
constexpr Rule kOlderClient{"pmix/client-not-newer",
                            kWorks,
                            kDoc,
                            "a PMIx server serves clients of its own and of older versions",
                            {}};
constexpr Rule kNewerClient{
    "pmix/client-newer",
    kUnknown,
    kDoc,
    "the image's PMIx is newer than the launcher's, and this pair was never "
    "seen (\"UNPACK-PMIX-VALUE: UNSUPPORTED TYPE\" is harmless where the "
    "ranks are right)",
    "keep the guard on, or use an MPI of the host's version in the image"};

constexpr PmixRow kPmixRows[] = {
    {{"1", "1"}, {"3", {}}, Order::kAny, kUsock},
    {{"1", "2.0"}, {}, Order::kAny, kBefore},
    {{"2.1", {}}, {"1", "2.0"}, Order::kAny, kOldServer},
    {{"4", "7"}, {"4", "4"}, Order::kAny, kSeen},
    {{"2.1", {}}, {"2.1", {}}, Order::kClientNotNewer, kOlderClient},
    {{"2.1", {}}, {"2.1", {}}, Order::kAny, kNewerClient},
};

} // namespace

std::span<const PmixRow> pmix_rows() {
    return kPmixRows;
}

} // namespace cybele::compatibility
