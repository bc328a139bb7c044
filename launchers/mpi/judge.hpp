// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launchers/mpi/mpi.hpp"
#include "launchers/mpi/rules.hpp"

#include <string>
#include <vector>

namespace cybele::compatibility {

/// What an image says of itself, as its labels do; empty texts: unknown.
struct Image {
    MpiVersion mpi;
    std::string pmi;          ///< label cybelectl.pmi
    std::string libc;         ///< "glibc 2.36", "musl 1.2.5"
    std::string architecture; ///< "amd64"
    std::string target;       ///< processor that its programs are made for: "x86-64-v3"
};

/// Where the MPI library comes from that the ranks call.
enum class Model {
    kHybrid, ///< the image's own
    kBind,   ///< the host's, bound into the container
};

/// What starts the ranks, and what stands between it and them; empty texts: unknown.
struct Host {
    MpiLauncher launcher = MpiLauncher::kMpirunOpenmpi;
    MpiVersion mpi;   ///< mpirun's; in the bind model the bound library's
    std::string pmix; ///< version of the PMIx server, or srun's name for it: "4.2.2", "pmix_v4"
    std::string slurm;
    std::string libc;
    std::string architecture;
    std::string processor; ///< the best that its processors run: "x86-64-v3"
    Model model = Model::kHybrid;
    bool has_several_nodes = false;
    std::vector<Circumstance> circumstances;
};

/// The verdict: the worst of all rules that hold for this image under this launcher.
struct Judgement {
    Outcome outcome = Outcome::kUnknown;
    std::vector<const Rule*> rules; ///< all that hold, the worst first; never empty
    std::vector<Option> options;    ///< what makes it work, where that is the outcome

    [[nodiscard]] const Rule& worst() const {
        return *rules.front();
    }
    /// "aborts (seen): because …".
    [[nodiscard]] std::string text() const;
};

/// Pure; the tables are in the `*_rules.cpp` of this folder. What no row knows is kUnknown.
[[nodiscard]] Judgement judge(const Image& image, const Host& host);

} // namespace cybele::compatibility
