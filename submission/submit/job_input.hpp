// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/inspection/facts.hpp"
#include "launchers/documents/job.hpp"
#include "launchers/documents/site.hpp"
#include "pipeline/recipe_image.hpp"
#include "registry/store/place.hpp"
#include "schedulers/scripts/render.hpp"
#include "submission/submit/overrides.hpp"
#include "support/error.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace cybele::submission {

/// Everything that a rendering or a submission of one Job needs, read and checked.
struct JobInput {
    launchers::Job job;
    std::vector<std::string> options; ///< that replaced fields of the Job: `-N 2`
    std::optional<launchers::Site> site;
    std::string dialect;
    std::string image;                       ///< as the script names it; empty: no image
    std::optional<std::string> image_digest; ///< `sha256:…` where the Job names it
    std::filesystem::path image_file;        ///< where it lies, seen from here
    std::string file_digest; ///< `sha256:…` of the file for the record: find_image_digest()
    bool is_stored = false;  ///< it lies in the local store
    std::optional<pipeline::RecipeImage> made; ///< where the Job names a Recipe
    /// The image is there, and its Recipe is another one now: nothing is known of the one to come.
    bool is_outdated = false;
    std::optional<images::ImageFacts> facts; ///< of an image that is here and not outdated

    [[nodiscard]] schedulers::RenderInput render_input() const;
};

struct JobRequest {
    std::filesystem::path file; ///< a Job, or a folder with job.yaml
    std::string scheduler;      ///< empty: the Site's, else `local`
    std::filesystem::path site;
    std::string site_from;           ///< what names it: "--site", "the variable CYBELE_SITE"
    std::optional<Place> site_place; ///< where a file of settings names it
    registry::StoreFolder store;     ///< where images `store:…` lie
    std::filesystem::path home;      ///< what `~/` stands for in paths of the Job
    Overrides overrides;
};

/// Reads a Job (and Site), lays the overrides over it, reads the facts of its image where the file
/// exists.
[[nodiscard]] Result<JobInput> read_job_input(const JobRequest& request);

/// The Site in a file; the error where it is missing says what names it: `named_by`, at `place`.
/// One that a file of settings names must follow their rule (own_site.hpp).
[[nodiscard]] Result<launchers::Site> read_named_site(const std::filesystem::path& file,
                                                      const std::string& named_by,
                                                      const std::optional<Place>& place,
                                                      const std::filesystem::path& home);

/// What the labels of a foreign image do not say of its MPI, PMI and C library is looked for in its
/// files, without mounting or running it.
[[nodiscard]] Result<void> find_facts_in_files(JobInput& input);

/// Reads the facts again, after the image was built. Those of an image whose Recipe is another one
/// now are not taken over.
[[nodiscard]] Result<void> read_image_facts(JobInput& input);

} // namespace cybele::submission
