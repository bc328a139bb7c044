// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder/files/copy.hpp"
#include "builder/request/request.hpp"
#include "builder/steps/apps.hpp"
#include "registry/oci/oci_image.hpp"
#include "runtime/namespaces/sandbox.hpp"
#include "support/file.hpp"
#include "support/stamp.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

/// What a build will do, stage by stage.
namespace cybele::builder {

/// One step of a stage after its bootstrap.
struct Step {
    enum class Kind {
        kCopy,       ///< %files from the host
        kStageCopy,  ///< %files from a stage
        kHostScript, ///< %setup
        kScript,     ///< one self-contained %post, or neighbouring ones joined
        kApps        ///< SCIF applications: their folders, files and scripts
    };
    Kind kind = Kind::kScript;
    const definitions::Section* section = nullptr; ///< the (first) section
    std::string text;                              ///< of scripts
    std::string arguments;
    std::vector<Copy> copies; ///< of kCopy and kApps
    /// Finds `copies` when they are copied: a script of the host that runs before may make them.
    std::function<Result<std::vector<Copy>>()> find_copies;
    std::vector<App> apps;      ///< of kApps
    std::size_t from_stage = 0; ///< of kStageCopy
    std::string name;           ///< for the user: "%post 2 of 3"
};

/// A stage with its agent's source found.
struct StagePlan {
    const definitions::Stage* stage = nullptr;
    std::string agent;
    std::filesystem::path source; ///< localimage: the file or folder; debootstrap: the base's tar
    /// Of a localimage that is a file: opened once, verified, named by its content and unpacked.
    std::shared_ptr<const UniqueFd> file;
    std::optional<FileStamp> stamp; ///< of `file`, when it was opened
    std::string base_key;           ///< what the base's content depends on; empty: not known
    std::string base_digest;        ///< of a base that is an image, as a Lock keeps it
    std::shared_ptr<const registry::OciImage> oci; ///< a base whose layers are unpacked
    std::vector<Step> steps;
    bool is_users = false; ///< built by an ordinary user, whose %pre and %setup are enclosed
};

struct BuildPlan {
    std::vector<StagePlan> stages;
    std::uint64_t needed_bytes = 0; ///< for all trees, an estimate
};

} // namespace cybele::builder
