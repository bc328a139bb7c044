// SPDX-License-Identifier: Apache-2.0
#include "schedulers/reading/symptoms.hpp"

#include "support/quote.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cybele::schedulers {
namespace {

// launch.md, section 9, in its order.
constexpr std::array kSymptoms{
    Symptom{"singletons",
            "MPI in the container found neither PMIx nor PMI of the launcher: each rank is a job "
            "of its own",
            "start the ranks with an MPI of the image's family (`job check` says which), and let "
            "the environment pass",
            "seen"},
    Symptom{"pmi2-for-openmpi-5",
            "Open MPI from 5 on has no PMI-1 and no PMI-2",
            "use srun --mpi=pmix (`pmi: pmix` under launch)",
            "seen"},
    Symptom{"no-pmi-for-openmpi-4",
            "Open MPI 4 found no PMIx server: srun was called with pmi2 or none, or the network is "
            "not the host's",
            "use srun --mpi=pmix, or mpirun; share the network namespace",
            "seen"},
    Symptom{"pmix-busy",
            "the PMIx server does not answer: too many ranks at once, or its version is too far "
            "from the client's",
            "use the same MPI in the image and on the host; limit the time of the start",
            "singularity #5203, #3678"},
    Symptom{"pmix-too-old",
            "PMIx before 2.1 speaks a protocol (usock) that later servers have lost",
            "build the image with PMIx 2.1 or newer",
            "openpmix #556"},
    Symptom{
        "cma-forbidden",
        "copying from another process's memory is forbidden across user namespaces",
        "set OMPI_MCA_btl_vader_single_copy_mechanism=none (Open MPI 4) or OMPI_MCA_smsc=^cma (5)",
        "ompi #4948"},
    Symptom{
        "ucx-cma-forbidden",
        "UCX copies from another process's memory, which user namespaces or ptrace_scope forbid",
        "set UCX_TLS=^cma",
        "apptainer #1227, ucx #3545"},
    Symptom{"private-pids",
            "ranks in process-id namespaces of their own are both pid 2, and mix up their shared "
            "memory",
            "drop --pid and --containall",
            "seen"},
    Symptom{"private-tmp",
            "the PMIx server's files lie in a /tmp that the container does not see; a slower way "
            "is taken",
            "bind /tmp (drop --contain)",
            "seen"},
    Symptom{"newer-client",
            "the image's PMIx is newer than the server's",
            "it does no harm where the ranks' number is right; else use the same MPI",
            "ompi #12146"},
    Symptom{"wrong-interface",
            "MPI chose network interfaces that do not reach each other",
            "set OMPI_MCA_btl_tcp_if_include to the network of the nodes (`interconnect.network` "
            "in the Site)",
            "seen"},
    Symptom{"ucx-endpoint",
            "UCX chose a transport that does not reach the other node",
            "set UCX_TLS=tcp,self, or the right fabric",
            "seen"},
    Symptom{
        "stale-pmix-folder",
        "Slurm's PMIx plugin found its folder in /tmp taken: a stale one, or one of another slurmd",
        "remove /tmp/spmix_appdir*, give each slurmd a /tmp of its own",
        "seen"},
    Symptom{"second-program",
            "a step's process may connect to PMIx once: a second MPI program in it does not start",
            "start each MPI program by an srun of its own",
            "ompi #10940"},
    Symptom{
        "one-core",
        "a rank is bound to one core, and so are all its threads",
        "write srun --cpus-per-task, or mpirun --map-by ppr:M:node:PE=T; a rendered script does",
        "seen"},
    Symptom{"daemon-lost",
            "mpirun lost its daemon on another node: the node failed, or mpirun of Open MPI 4 was "
            "started outside the job's nodes (salloc on a login node) for an image with Open MPI 5",
            "start it in a batch script, which runs on the job's first node, or by srun with pmix",
            "seen"},
    Symptom{"torch-without-libuv",
            "this PyTorch was built without libuv, which torchrun asks for (Debian 13's 2.6)",
            "take another build of PyTorch: Debian 12's, or PyPI's",
            "seen"},
    Symptom{"missing-library",
            "the program needs a shared library that the image does not have",
            "add the package that has it to `packages.system` of the Recipe (libgomp1 for "
            "libgomp.so.1), or copy it with `files`; then build again",
            "seen"},
    Symptom{"out-of-memory",
            "the job used more memory than it asked for",
            "raise `memory-per-node`",
            "documented"},
    Symptom{"time-is-up",
            "the time limit ended the job",
            "raise `time`, or take a `signal` before the end",
            "seen"},
    Symptom{"step-ended",
            "a step was ended from outside: it was cancelled, its time was up, or MPICH under "
            "Apptainer in a user namespace hung after its results, as it does with pmi2",
            "look at the job's time limit; with pmi2 use the MPI's own mpiexec",
            "seen"},
};

/// A symptom shows where a line has all of these texts, whatever their case.
struct Sign {
    std::string_view symptom;              ///< its id
    std::array<std::string_view, 3> texts; ///< empty ones count for nothing
    std::size_t least = 1;                 ///< lines that must show it
};

constexpr std::array kSigns{
    Sign{"singletons", {"rank 0 of 1", "", ""}, 2},
    Sign{"singletons", {"rank 0/1", "", ""}, 2},
    Sign{"singletons", {"mpi in the container sees 1", "", ""}},
    Sign{"pmi2-for-openmpi-5", {"no pmix server was reachable", "pmi1/2", ""}},
    Sign{"no-pmi-for-openmpi-4", {"ext3x_client.c", "unreachable", ""}},
    Sign{"no-pmi-for-openmpi-4", {"ompi was not built with slurm's pmi support", "", ""}},
    Sign{"pmix-busy", {"pmix temporarily unavailable", "", ""}},
    Sign{"pmix-too-old", {"usock", "pmix", ""}},
    Sign{"cma-forbidden", {"read -1, expected", "errno = 1", ""}},
    Sign{"torch-without-libuv", {"use_libuv was requested", "without libuv", ""}},
    Sign{"daemon-lost", {"lost communication with a remote daemon", "", ""}},
    Sign{"ucx-cma-forbidden", {"process_vm_readv", "not permitted", ""}},
    Sign{"private-pids", {"mca_btl_vader_sendi", "", ""}},
    Sign{"private-tmp", {"gds_ds12_lock_pthread.c", "", ""}},
    Sign{"newer-client", {"unpack-pmix-value", "unsupported type", ""}},
    Sign{"wrong-interface", {"unable to find reachable pairing", "", ""}},
    Sign{"ucx-endpoint", {"endpoint timeout", "", ""}},
    Sign{"stale-pmix-folder", {"spmix_appdir", "file exists", ""}},
    Sign{"stale-pmix-folder", {"launch failed: unspecified error", "", ""}},
    Sign{"second-program", {"mpi_comm_spawn", "", ""}},
    Sign{"one-core", {"mcw rank", "bound to", "[b/"}},
    Sign{"missing-library",
         {"error while loading shared libraries", "cannot open shared object file", ""}},
    Sign{"missing-library", {"error loading shared library", "no such file", ""}},
    Sign{"out-of-memory", {"oom", "kill", ""}},
    Sign{"time-is-up", {"due to time limit", "", ""}},
    Sign{"time-is-up", {"pbs: job killed: walltime", "", ""}},
    Sign{"step-ended", {"*** step", "cancelled at", ""}},
};

constexpr const Symptom* find_symptom(std::string_view id) {
    for (const Symptom& symptom : kSymptoms) {
        if (symptom.id == id) {
            return &symptom;
        }
    }
    return nullptr;
}

static_assert(std::all_of(kSigns.begin(), kSigns.end(), [](const Sign& sign) {
    return find_symptom(sign.symptom) != nullptr;
}));

std::string lowered(std::string_view text) {
    std::string low(text);
    std::transform(low.begin(), low.end(), low.begin(), [](unsigned char character) {
        return static_cast<char>(character >= 'A' && character <= 'Z' ? character + 32 : character);
    });
    return low;
}

bool shows(const Sign& sign, const std::string& low) {
    return std::all_of(sign.texts.begin(), sign.texts.end(), [&](std::string_view text) {
        return low.find(text) != std::string::npos;
    });
}

/// A finding and how many lines it takes to be one.
struct Candidate {
    Finding finding;
    std::size_t least = 1;
};

void note(const Sign& sign,
          std::size_t line,
          std::string_view text,
          std::vector<Candidate>& findings) {
    const auto known = std::find_if(findings.begin(), findings.end(), [&](const Candidate& each) {
        return each.finding.symptom->id == sign.symptom;
    });
    if (known != findings.end()) {
        known->finding.times += 1;
        known->least = std::min(known->least, sign.least);
        return;
    }
    findings.push_back({{find_symptom(sign.symptom), line, 1, std::string(text)}, sign.least});
}

} // namespace

std::span<const Symptom> symptoms() {
    return kSymptoms;
}

std::vector<Finding> find_symptoms(std::string_view log) {
    std::vector<Candidate> candidates;
    std::size_t line = 0;
    while (!log.empty()) {
        ++line;
        const auto text = log.substr(0, log.find('\n'));
        log.remove_prefix(std::min(text.size() + 1, log.size()));
        const std::string low = lowered(text);
        for (const Sign& sign : kSigns) {
            if (shows(sign, low)) {
                note(sign, line, text, candidates);
            }
        }
    }
    std::vector<Finding> findings;
    for (Candidate& candidate : candidates) {
        if (candidate.finding.times >= candidate.least) {
            findings.push_back(std::move(candidate.finding));
        }
    }
    return findings;
}

std::string findings_text(std::span<const Finding> findings, const std::string& file) {
    if (findings.empty()) {
        return printable(file) + ": no known symptom\n";
    }
    std::string text;
    for (const Finding& finding : findings) {
        text += fmt::format("{}:{}: {}\n  | {}\n  because: {} ({})\n  help: {}\n",
                            printable(file),
                            finding.line,
                            finding.symptom->id,
                            printable(finding.text),
                            finding.symptom->because,
                            finding.symptom->source,
                            finding.symptom->help);
        text += finding.times > 1 ? fmt::format("  {} lines show it\n", finding.times) : "";
    }
    return text;
}

std::string findings_json(std::span<const Finding> findings, const std::string& file) {
    nlohmann::ordered_json json;
    json["format"] = 1;
    json["file"] = printable(file);
    json["symptoms"] = nlohmann::ordered_json::array();
    for (const Finding& finding : findings) {
        json["symptoms"].push_back({{"symptom", finding.symptom->id},
                                    {"line", finding.line},
                                    {"lines", finding.times},
                                    {"text", printable(finding.text)},
                                    {"because", finding.symptom->because},
                                    {"help", finding.symptom->help},
                                    {"source", finding.symptom->source}});
    }
    return json.dump(2) + "\n";
}

} // namespace cybele::schedulers
