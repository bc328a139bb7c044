// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launchers/documents/job.hpp"
#include "support/error.hpp"
#include "support/yaml.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cybele::launchers {

struct SiteMpi {
    std::string family; ///< openmpi, mpich, mvapich2, mvapich, intel
    std::string version;
    std::string prefix;
    std::string launcher;
    std::vector<std::string> modules;
};

struct SiteQueue {
    std::string name;
    std::optional<std::uint32_t> nodes;
    std::optional<std::uint32_t> cores_per_node;
    std::optional<std::uint64_t> memory_per_node_bytes;
    std::uint32_t gpus_per_node = 0;
    std::string gpu_type;
    GpuForm gpu_form = GpuForm::kPerNode;
    std::string gpu_vendor;                   ///< nvidia, amd, intel; empty: not known
    std::optional<std::chrono::seconds> time; ///< for jobs that name none
    std::optional<std::chrono::seconds> max_time;
    std::vector<std::string> features;
    std::string account; ///< for jobs that name none, before the Site's
    std::string qos;
    Directives directives;
    std::vector<std::string> modules;
    std::vector<Setup> setup;
    std::vector<Teardown> teardown;
};

struct SiteRuntime {
    std::string program; ///< apptainer, singularity, cybelectl; empty: found by the script
    std::string version;
    std::string path;
    std::string mode; ///< setuid, userns, root, or empty
};

struct Connector {
    std::string image;
    std::string backend;
    std::string credentials;
    std::chrono::seconds monitoring_period{30};
    std::chrono::seconds grace{60};
};

struct SiteKubernetes {
    std::string bridge;
    std::string api_version;
    std::string kind;
    std::string node_name;
    std::optional<std::uint32_t> pod_cores;        ///< that a pod can have at most
    std::optional<std::uint64_t> pod_memory_bytes; ///< likewise
    std::optional<std::chrono::seconds> pod_time;  ///< after which pods are moved away
    std::optional<Connector> connector;
};

/// A text that replaces the embedded template of its name, and the file that it comes from.
struct SiteTemplate {
    std::string name; ///< script/setup, dialect/head …
    std::string text;
    std::string file;
};

/// Facts of a place where jobs run: the document of kind Site, read and checked.
struct Site {
    std::string name;
    std::string dialect; ///< slurm, torque, pbspro, slurm-torque, local
    std::string scheduler_version;
    /// Until a job without any trace is lost; unset: as usual.
    std::optional<std::chrono::seconds> patience;
    std::string through = "commands"; ///< commands, ssh, slurmrestd, rimrock
    std::map<std::string, std::string> through_settings;
    SiteRuntime runtime;
    std::string node_arch;
    std::string node_glibc;
    std::vector<SiteMpi> mpi;                    ///< the first is the default
    std::optional<std::vector<std::string>> pmi; ///< unset: not known
    std::string interconnect = "ethernet";
    std::string interconnect_network;
    NodeText scratch_node;
    std::vector<SiteQueue> queues;     ///< a Job that names none gets the first that it fits in
    std::string account;               ///< for jobs that name none
    std::string account_option = "-A"; ///< that of PBS Pro's qsub for accounts
    std::string qos;                   ///< likewise
    std::vector<std::string> modules;
    std::vector<Setup> setup;
    std::vector<Teardown> teardown;
    Directives directives;
    std::vector<SiteTemplate> templates; ///< by name
    std::vector<NodeText> binds;
    std::map<std::string, NodeText> environment;
    std::string verify_policy;
    std::vector<std::string> verify_keys;
    std::string verify_require = "any";
    std::optional<SiteKubernetes> kubernetes;

    std::string digest;
    std::filesystem::path folder;
    yaml::Source source{"", ""};
    std::map<std::string, yaml::Mark> marks;
};

/// Reads a document of kind Site, and the templates that it names. All faults at once, each with
/// its place (kInput).
[[nodiscard]] Result<Site> read_site(std::string text, const std::filesystem::path& file);

} // namespace cybele::launchers
