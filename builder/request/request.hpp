// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder/request/step_event.hpp"
#include "definitions/grammar/definition.hpp"
#include "images/sif/sif.hpp"
#include "registry/oci/connection.hpp"
#include "registry/store/place.hpp"
#include "support/environment.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::builder {

class ContextFiles;

/// How images that stages begin with are found and judged.
struct BaseImages {
    registry::Access access;       ///< to registries
    std::filesystem::path program; ///< this one, beside which its helper lies
    registry::StoreFolder store;   ///< empty: the user's own
    std::string architecture;      ///< of images of registries; empty: this machine's
    /// `From:` → what a Lock says of it: an image with another digest is refused.
    std::map<std::string, std::string> digests;
    /// `From:` → public keys or Policies, each of which must hold.
    std::map<std::string, std::set<std::filesystem::path>> keys;
    bool tells_digests = false; ///< fills BuildResult::bases; files are hashed for it
};

/// What steps and %test see of the machine besides: --bind.
struct StepBind {
    std::filesystem::path source; ///< absolute
    std::filesystem::path target; ///< a file or folder of the image
    bool is_read_only = false;
};

/// How steps and %test are run.
struct StepRules {
    std::vector<StepBind> binds;    ///< with them no step is reused
    bool runs_tests = true;         ///< %test
    bool has_writable_test = false; ///< %test may change files, which is forgotten
    unsigned timeout = 0;           ///< seconds that one step may take; 0: any
    mode_t umask = 0022;
    EnvironmentMap variables;       ///< of %post, over its usual ones
    bool fixes_permissions = false; ///< the owner may read and write every file of the image
    bool keeps_base_help = false;   ///< %help does not replace the help text of the base
    bool replaces_labels = false;   ///< %labels replaces labels of the base
    /// As by the name of Apptainer: %files obeys the umask and drops setuid bits, %post is
    /// /.post.script while it runs, labels name Apptainer and no base, and permissions are fixed
    /// where the base comes from an OCI image.
    bool follows_apptainer = false;
};

/// Where packages come from, and what proves the servers.
struct PackageSources {
    std::string mirror;         ///< of distributions; empty: this machine's own
    bool is_mirror_set = false; ///< by the settings, not by the command line: an archive of Debian
    std::string pip_index;      ///< where pip asks in build steps; empty: where this machine's does
    std::filesystem::path ca_file; ///< empty: SSL_CERT_FILE … of the environment
};

/// When an image is made, as it says itself.
struct BuildTime {
    std::int64_t now = 0;          ///< Unix seconds: the time of what is made
    std::int64_t clock = 0;        ///< at which keys of bases must be valid; 0: `now`
    bool is_deterministic = false; ///< SOURCE_DATE_EPOCH given
};

/// Who sees what steps print. Its end is kept for messages in any case.
enum class StepOutput {
    kKept,    ///< no one: it is only in the log of the step
    kErrors,  ///< the user, both streams on standard error
    kStreams, ///< the user, standard output and standard error apart
};

/// Who hears how a build goes on.
struct BuildReporter {
    bool is_verbose = false;
    StepOutput output = StepOutput::kKept;
    /// A line for the user at each step ("bootstrap debian 12", "%post 1 of 3: reused", …).
    std::function<void(const StepEvent&)> on_step;
    /// The value of each phase of the build as a line of JSON (phase_json.hpp); unset: none.
    std::function<void(const std::string& phase, const std::string& value)> on_phase;

    void tell(const StepEvent& event) const {
        if (on_step) {
            on_step(event);
        }
    }
};

/// What an image is built from.
struct BuildSource {
    definitions::Definition definition;
    std::filesystem::path file;      ///< for messages
    std::filesystem::path directory; ///< that relative sources of %files begin at
    /// %files leaves out what no input of a Recipe is (BuildContext::Rules::kRecipe).
    bool has_context_rules = false;
    /// The files of the host as they were listed by these rules; null: they are listed now.
    std::shared_ptr<ContextFiles> context;
};

/// What an image says of itself, and how it is packed.
struct ImageDescription {
    std::map<std::string, std::string> labels; ///< added to %labels (facts: cybelectl.*)
    std::string compression = "zstd";
    std::string sbom;    ///< list of what is inside: "spdx"; "none" or empty: no list
    std::string name;    ///< of the image, for that list
    std::string version; ///< of the image, for that list
    std::string sources; ///< what it is made from, as an object of it; empty: no such object
};

/// Signatures that an image gets before it has its name.
struct BuildSigning {
    /// As images::NewImage::finish; unset: the image is not signed.
    std::function<Result<std::vector<images::NewObject>>(const images::Image& image)> sign;
    /// Names who signs: an output that is there, signed by the same, stays as it is. Empty: such an
    /// output is made again.
    std::string signers;
};

struct BuildRequest {
    BuildSource source;
    std::filesystem::path output; ///< NAME.sif
    bool force = false;           ///< replace an existing output
    bool use_cache = true;
    /// How many stages are made side by side, where none copies from another.
    unsigned stages_at_once = 1;
    StepRules steps;
    PackageSources packages;
    BuildTime time;
    BaseImages bases;
    ImageDescription image;
    BuildSigning signing;
    BuildReporter reporter;
};

/// What a stage began with.
struct UsedBase {
    std::string uri;    ///< docker://HOST/NAME:TAG, debian:SUITE, NAME.sif
    std::string digest; ///< `sha256:…`
};

struct BuildResult {
    std::filesystem::path image;
    std::uint64_t bytes = 0;
    std::vector<UsedBase> bases; ///< those with a digest
};

} // namespace cybele::builder
