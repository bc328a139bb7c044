// SPDX-License-Identifier: Apache-2.0
// The sections of a definition file, as files below /.singularity.d (images notes 3.2).
#include "images/container/metadata.hpp"

#include "images/container/layout_files.hpp"
#include "images/container/metadata_labels.hpp"
#include "images/inspection/container_architecture.hpp"
#include "images/inspection/layout_root.hpp"

#include <array>

#include <fmt/format.h>

namespace cybele::images {
namespace {

constexpr std::string_view kLabelsFile = ".singularity.d/labels.json";
constexpr std::string_view kDefinitionFile = ".singularity.d/Singularity";
constexpr std::string_view kEnvironmentFile = ".singularity.d/env/90-environment.sh";
constexpr std::string_view kHistory = ".singularity.d/bootstrap_history";
constexpr std::string_view kBuildLabels = ".build.labels";

struct Script {
    std::string_view path;
    const std::string& text;
    const std::string& arguments;
    bool is_wanted;
};

bool is_blank(std::string_view text) {
    return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

// The section's text behind a shebang: its own, if that is the first thing in it, else /bin/sh; the
// arguments of the section line go to the shebang.
std::string script_text(std::string_view text, std::string_view arguments) {
    const auto start = std::min(text.find_first_not_of(" \t\r\n"), text.size());
    std::string_view shebang = "#!/bin/sh";
    std::string_view body = text;
    if (text.substr(start).starts_with("#!")) {
        const auto end = std::min(text.find('\n', start), text.size());
        shebang = text.substr(start, end - start);
        body = text.substr(std::min(end + 1, text.size()));
    }
    return fmt::format("{}{}{}\n\n{}\n", shebang, arguments.empty() ? "" : " ", arguments, body);
}

// A base image's own scripts stay where the definition file has none; so do those that %post wrote.
Result<void> write_scripts(const RootDirectory& root, const Metadata& metadata) {
    const std::array scripts = {
        Script{".singularity.d/runscript",
               metadata.runscript,
               metadata.runscript_arguments,
               !is_blank(metadata.runscript)},
        Script{".singularity.d/startscript",
               metadata.startscript,
               metadata.startscript_arguments,
               !is_blank(metadata.startscript)},
        Script{".singularity.d/test", metadata.test, metadata.test_arguments, metadata.has_test},
    };
    for (const auto& script : scripts) {
        if (script.is_wanted) {
            CYBELE_CHECK(root.write(script.path, script_text(script.text, script.arguments), 0755));
        }
    }
    return {};
}

// Behind what is there: the environment of a base image holds for what is built from it.
Result<void> append_environment(const RootDirectory& root, const std::string& environment) {
    if (is_blank(environment)) {
        return {};
    }
    CYBELE_TRY(auto text, root.read(kEnvironmentFile));
    return root.write(
        kEnvironmentFile, fmt::format("{}\n{}\n", text.value_or("#!/bin/sh\n"), environment), 0755);
}

Result<void> write_definition(const RootDirectory& root, const std::string& definition) {
    CYBELE_TRY(const auto previous, root.read(kDefinitionFile));
    if (previous && !previous->empty()) {
        CYBELE_CHECK(root.make_directory(kHistory, 0755));
        CYBELE_CHECK(root.write(
            fmt::format("{}/Apptainer{}", kHistory, root.list(kHistory).size()), *previous, 0644));
    }
    return root.write(kDefinitionFile, definition, 0644);
}

Result<void> write_labels(const RootDirectory& root, const Metadata& metadata) {
    LabelSources sources;
    sources.architecture = root_architecture(root);
    CYBELE_TRY(const auto inherited, root.read(kLabelsFile));
    if (inherited && !is_blank(*inherited)) {
        CYBELE_TRY(sources.inherited, parse_labels(*inherited));
    }
    CYBELE_TRY(const auto of_post, root.read(kBuildLabels));
    sources.of_post = parse_build_labels(of_post.value_or(std::string{}));
    CYBELE_CHECK(root.write(kLabelsFile, print_labels(merge_labels(sources, metadata)), 0644));
    return root.remove(kBuildLabels);
}

} // namespace

Result<void> write_metadata(const std::filesystem::path& path, const Metadata& metadata) {
    CYBELE_TRY(const auto root, RootDirectory::open(path));
    CYBELE_CHECK(write_fixed_files( // again: %post may have removed some
        root,
        metadata.names_apptainer ? EtcFiles::kOfApptainer : EtcFiles::kAll));
    CYBELE_CHECK(write_scripts(root, metadata));
    CYBELE_CHECK(append_environment(root, metadata.environment));
    if (!metadata.help.empty()) {
        CYBELE_CHECK(root.write(".singularity.d/runscript.help", metadata.help + "\n", 0644));
    }
    CYBELE_CHECK(write_labels(root, metadata));
    return write_definition(root, metadata.definition);
}

} // namespace cybele::images
