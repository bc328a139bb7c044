// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "definitions/grammar/definition.hpp"
#include "images/sif/sif.hpp"
#include "images/squashfs/squashfs.hpp"
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
    bool has_writable_test = false; ///< %test may change files, which is forgotten
    unsigned step_timeout = 0;      ///< seconds that one step may take; 0: any
    mode_t step_umask = 0022;
    EnvironmentMap step_variables;  ///< of %post, over its usual ones
    bool fixes_permissions = false; ///< the owner may read and write every file of the image
    bool keeps_base_help = false;   ///< %help does not replace the help text of the base
    bool replaces_labels = false;   ///< %labels replaces labels of the base
};

struct BuildRequest : StepRules {
    definitions::Definition definition;
    std::filesystem::path
        definition_file;             ///< for messages; %files sources are relative to `directory`
    std::filesystem::path directory; ///< the recipe's folder
    std::filesystem::path output;    ///< NAME.sif
    /// %files leaves out what no input of a Recipe is (BuildContext::Rules::kRecipe).
    bool has_context_rules = false;
    /// The files of the host as they were listed by these rules; null: they are listed now.
    std::shared_ptr<ContextFiles> context;
    bool force = false; ///< replace an existing output
    bool run_tests = true;
    bool use_cache = true;
    /// How many stages are made side by side, where none copies from another.
    unsigned stages_at_once = 1;
    std::string mirror;    ///< the package mirror; empty: this machine's own
    std::string pip_index; ///< where pip asks in build steps; empty: where this machine's does
    std::filesystem::path ca_file; ///< empty: SSL_CERT_FILE … of the environment
    std::int64_t now = 0;          ///< Unix seconds: the time of what is made
    std::int64_t clock = 0;        ///< at which keys of bases must be valid; 0: `now`
    bool is_deterministic = false; ///< SOURCE_DATE_EPOCH given
    images::PackOptions pack;
    std::map<std::string, std::string> labels; ///< added to %labels (facts: cybelectl.*)
    std::string sbom;    ///< list of what is inside: "spdx"; "none" or empty: no list
    std::string name;    ///< of the image, for that list
    std::string version; ///< of the image, for that list
    std::string sources; ///< what it is made from, as an object of it; empty: no such object
    bool is_verbose = false;
    BaseImages bases;
    bool tells_bases = false; ///< fills BuildResult::bases; files are hashed for it
    /// As images::NewImage::finish: signs the image before it appears.
    std::function<Result<std::vector<images::NewObject>>(const images::Image& image)> finish;
    /// Names who signs by `finish`: an output that is there, signed by the same, stays as it is.
    /// Empty: such an output is made anew.
    std::string finish_name;
    /// A line for the user at each step ("bootstrap debian 12", "%post 1 of 3: reused", …).
    std::function<void(const std::string&)> on_step;
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
