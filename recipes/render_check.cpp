// SPDX-License-Identifier: Apache-2.0
#include "recipes/render_check.hpp"

#include "recipes/render_stage.hpp"
#include "recipes/render_text.hpp"
#include "recipes/tables.hpp"

namespace cybele::recipes {
namespace {

/// The reference refuses a section of 64 KiB; room is left for what is written around a step.
constexpr std::size_t kLongestStep = 40'000;

class Check {
public:
    Check(const Recipe& recipe, Faults& faults) : recipe_(recipe), faults_(faults) {}

    void base(const Base& base, const std::string& path) {
        if (!base.image.empty()) {
            image_base(base, path);
            return;
        }
        if (find_distribution(base.distribution) == nullptr) {
            std::string known;
            for (const auto& row : distributions()) {
                known += (known.empty() ? "" : ", ") + std::string(row.id);
            }
            not_yet(path, "the base '" + base.distribution + "'", "use one of: " + known);
        }
        if (base.arch != "amd64") {
            not_yet(path, "images for '" + base.arch + "'", "use `amd64`");
        }
    }

    void mpi(const RecipeMpi& mpi, const Base& base, const std::string& path) {
        if (mpi.family.empty()) {
            return;
        }
        if (mpi.from != "distribution") {
            not_yet(path + ".from",
                    "an MPI from '" + mpi.from + "'",
                    "write `from: distribution`, or leave it out");
            return;
        }
        if (mpi.host && mpi.host->family.empty() && mpi.host->launcher.empty()) {
            not_yet(path + ".host",
                    "reading the host's MPI from a Site",
                    "write `host: {family: …, version: …}`");
        }
        const MpiRow* row = find_mpi(base.distribution, mpi.family);
        if (row == nullptr) {
            not_yet(path,
                    "'" + mpi.family + "' from " +
                        (base.image.empty() ? base.distribution : "an image"),
                    "use openmpi or mpich on debian:11, debian:12 or debian:13");
        } else if (!mpi.version.empty() && mpi.version != row->version) {
            fault(path + ".version",
                  base.distribution + " has " + mpi.family + " " + std::string(row->version) +
                      ", not " + mpi.version,
                  "`from: distribution` takes what the distribution packages",
                  other_base(mpi));
        }
    }

    void stage(const StageFields& fields, const std::string& prefix) {
        const std::string dot = prefix.empty() ? "" : prefix + ".";
        const Base& own = base_of(recipe_, fields);
        if (fields.base) {
            base(own, dot + "base");
        }
        mpi(fields.mpi, own, dot + "mpi");
        if (!own.image.empty() &&
            !(fields.packages.system.empty() && fields.packages.needs.empty())) {
            not_yet(dot + "packages",
                    "packages on top of an image",
                    "install them in `steps`, or use a distribution as base");
        }
        for (std::size_t i = 0; i < fields.files.size(); ++i) {
            file(fields.files[i], dot + "files[" + std::to_string(i) + "]");
        }
        for (std::size_t i = 0; i < fields.steps.size(); ++i) {
            if (fields.steps[i].run.size() > kLongestStep) {
                fault(dot + "steps[" + std::to_string(i) + "]",
                      "the step is longer than 40000 bytes",
                      "a definition file's section ends at 65536",
                      "put it into a file, copy that with `files` and run it");
            }
        }
    }

    void top(const std::string& mirror) {
        payload("run", recipe_.run_script);
        payload("test", recipe_.test);
        payload("help", recipe_.help);
        for (const auto& [name, value] : recipe_.labels) {
            payload("labels." + name, "x " + value);
        }
        if (mirror.find_first_of(" #\\\n\r\t'\"") != std::string::npos) {
            faults_.add(Fault{ErrorCode::kUsage,
                              "the mirror's address '" + mirror + "' cannot be written",
                              {},
                              "a definition file's header ends a value at `#`, and an address has "
                              "no blanks",
                              "give an address without them",
                              false,
                              {}});
        }
        if (recipe_.marks.contains("image.sbom") && recipe_.sbom != "none") {
            not_yet("image.sbom", "a list of what is inside", "write `sbom: none`");
        }
        for (const auto& [name, value] : recipe_.args) {
            if (name == "path" || name == "home" || name == "ifs") {
                fault("args." + name,
                      "an argument '" + name + "' would change the shell of each step",
                      "steps see it as a variable in capitals",
                      "rename it");
            }
        }
    }

private:
    void image_base(const Base& base, const std::string& path) {
        if (base.image.find("://") != std::string::npos || base.image.starts_with("store:") ||
            base.image.find("@sha256:") != std::string::npos) {
            not_yet(path, "a base image that is no local file", "pull it, and name its path");
        } else if (base.image.find_first_of("#\\{") != std::string::npos) {
            fault(path,
                  "the image's path cannot be written into a definition file",
                  "a header's value ends at `#`",
                  "rename the file");
        }
    }

    std::string other_base(const RecipeMpi& mpi) const {
        for (const auto& row : mpis()) {
            if (row.family == mpi.family && row.version == mpi.version) {
                return "`base: " + std::string(row.distribution) + "` has it";
            }
        }
        return "leave the version out";
    }

    void file(const FileCopy& file, const std::string& path) {
        for (const auto& [field, text] : {std::pair{".from", file.from}, {".to", file.to}}) {
            if (text.find_first_of("\"\\$`{}") != std::string::npos || text.starts_with('~') ||
                text.starts_with('%')) {
                fault(path + field,
                      "a definition file cannot carry this path",
                      "its parser reads quotes, `\\`, `$`, braces and `~` in a file's name",
                      "rename the file, or copy the folder that it lies in");
            }
        }
        if (!file.mode.empty() && file.from.find_first_of("*?[") != std::string::npos) {
            fault(path + ".mode",
                  "'mode' with a pattern",
                  "it is set on one file or folder",
                  "name the file, or set the modes in a step");
        }
    }

    void payload(const std::string& path, const std::string& text) {
        if (!is_plain_payload(text)) {
            fault(path,
                  "a definition file cannot carry this text",
                  "its parser takes lines that begin with `%` or `Bootstrap:` and `{{ name }}` for "
                  "its own",
                  "put the text into a file, copy that with `files` and use it");
        }
    }

    void not_yet(const std::string& path, const std::string& what, std::string help) {
        fault(path,
              "not yet: " + what,
              "this version reads and checks '" + path + "', but cannot build it",
              std::move(help));
    }

    void
    fault(const std::string& path, std::string message, std::string because, std::string help) {
        faults_.add(
            recipe_.fault_at(path, std::move(message), std::move(because), std::move(help)));
    }

    const Recipe& recipe_;
    Faults& faults_;
};

} // namespace

void check_renderable(const Recipe& recipe, const std::string& mirror, Faults& faults) {
    for (const Fault& fault : recipe.not_yet) {
        faults.add(fault);
    }
    Check check(recipe, faults);
    check.stage(recipe, {});
    for (std::size_t i = 0; i < recipe.stages.size(); ++i) {
        check.stage(recipe.stages[i], "stages[" + std::to_string(i) + "]");
    }
    check.top(mirror);
}

} // namespace cybele::recipes
