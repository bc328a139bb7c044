// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/sif/sif.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cybele::images {

/// The metadata sections of a definition file that become files under /.singularity.d.
struct Metadata {
    std::string definition; ///< raw text
    std::string environment;
    std::string runscript;
    std::string runscript_arguments; ///< of the section line, appended to the shebang
    std::string startscript;
    std::string startscript_arguments;
    std::string test;
    std::string test_arguments;
    bool has_test = false;
    std::string help;
    std::map<std::string, std::string> labels; ///< %labels, not overriding automatic ones
    /// Header key → value, for org.label-schema.usage.singularity.deffile.*; the key with or
    /// without that prefix.
    std::map<std::string, std::string> header_labels;
    std::int64_t build_time = 0;                        ///< Unix seconds
    std::function<void(const std::string&)> on_warning; ///< told what is not taken over, and why
};

/// Makes the mount points, /etc files and links that a runtime expects, before %post runs.
[[nodiscard]] Result<void> write_base_layout(const std::filesystem::path& root);

/// Writes /.singularity.d whole: actions, env, runscript, startscript, test, labels.json,
/// Singularity (facts: images notes 3.2), merging the labels of a base image already there and
/// those that %post left in /.build.labels. Every path is resolved inside `root`.
[[nodiscard]] Result<void> write_metadata(const std::filesystem::path& root,
                                          const Metadata& metadata);

/// One of the layers that an overlay shows as a tree.
struct TreeLayer {
    std::filesystem::path folder; ///< read where `fd` is -1
    int fd = -1;                  ///< a squashfs of the same files, from its begin
    std::uint64_t size = 0;       ///< of the squashfs
};

/// Bytes of a layer that lie in the image as they are.
struct CopiedRange {
    int fd = -1;              ///< TreeLayer::fd
    std::uint64_t offset = 0; ///< in the layer
    std::uint64_t place = 0;  ///< in the image's file
    std::uint64_t bytes = 0;
};

struct PackOptions {
    std::string compression = "zstd";        ///< zstd (level 4), gzip (level 6)
    std::uint32_t workers = 0;               ///< 0: as many as processors in the affinity mask
    std::optional<std::int64_t> clamp_times; ///< no time stamp later than this
    bool all_root = false;                   ///< every owner becomes 0:0
    bool skip_devices = false; ///< leaves device nodes out, but not an overlay's whiteouts (0:0)
    /// Keeps the attribute by which an overlay marks a directory that hides what lies below it
    /// (trusted.overlay.opaque, user.overlay.opaque): for layers that are mounted again.
    bool keep_opaque = false;
    /// All layers that `root` shows, the lowest first, where it is an overlay of them whose files
    /// never point to others (redirect_dir and metacopy off). What lies compressed in one of them
    /// is copied instead of compressed again; the bytes written are the same.
    std::vector<TreeLayer> layers;
    /// Told at the end what was copied so, in the order of its places.
    std::function<void(const std::vector<CopiedRange>& ranges)> on_copied;
    std::function<void(std::uint64_t bytes)> on_progress;
};

/// Writes a squashfs of `root` at `offset` of `fd` by libsquashfs; gives its size (a multiple of
/// 4096). Does not leave root's file system, keeps xattrs security.capability and user.*.
[[nodiscard]] Result<std::uint64_t> write_squashfs(const std::filesystem::path& root,
                                                   int fd,
                                                   std::uint64_t offset,
                                                   const PackOptions& options);

/// A finished squashfs in an open file.
struct ReadySquashfs {
    int fd = -1;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
};

struct NewContainer {
    std::filesystem::path root; ///< with its metadata in place
    std::string definition;
    bool is_deterministic = false; ///< nil id and times
    /// Images are mounted nodev and get their /dev from the runtime, and device nodes in them keep
    /// an ordinary user from unpacking or building on them: left out unless this is set.
    bool keep_devices = false;
    std::int64_t build_time = 0;
    PackOptions pack;
    /// Writes a squashfs that is there already as the primary partition, instead of packing `root`:
    /// that of the image that the overlay differs from. Gives its size; empty: packs `root`.
    std::function<Result<std::uint64_t>(int fd, std::uint64_t offset)> write_ready;
    /// Gives a folder whose squashfs becomes an overlay partition behind the primary one, which is
    /// written by then; empty: no such partition.
    std::function<Result<std::filesystem::path>(const ReadySquashfs& primary)> make_overlay;
    /// As NewImage::finish: for signatures, which then are in the image when it appears.
    std::function<Result<std::vector<NewObject>>(const Image& image)> finish;
    /// A list of the packages inside (SBOM) as an object behind the partition: "spdx",
    /// "cyclonedx"; "none" or empty: no list. It names the image so:
    std::string sbom;
    std::string name = "image";
    std::string version;
    std::string sources; ///< what it is made from, for sources_object(); empty: no such object
};

/// A SIF as `apptainer build` writes it: definition (JSON labels, inspect metadata) and squashfs as
/// the primary partition, in the reference's order.
[[nodiscard]] Result<void> write_container(const std::filesystem::path& path,
                                           const NewContainer& container);

/// The object that says what an image was made from; the text is project/recipe_sources'.
[[nodiscard]] NewObject sources_object(std::string text);
/// Its text; nothing where the image has none.
[[nodiscard]] Result<std::optional<std::string>> read_sources(const Image& image);

/// Facts of an image that a launch believes, from its labels, without mounting it.
struct ImageFacts {
    std::map<std::string, std::string> labels;
    std::string mpi; ///< "openmpi 4.1.4"; empty: unknown
    std::string pmi;
    std::string mpi_probe; ///< path of the guard's program in the image
    std::string libc;
    std::string architecture;
};
[[nodiscard]] Result<ImageFacts> read_facts(const Image& image);

/// What `inspect` shows: the labels, definition, runscript, environment, test and help of an image,
/// read from its SIF objects.
struct Inspection {
    std::map<std::string, std::string> labels;
    std::string definition;
    std::string runscript;
    std::string startscript;
    std::string test;
    std::string help;
    std::map<std::string, std::string> environment; ///< file name → text
    /// SCIF apps by name; in them only labels, runscript, test, help and environment.
    std::map<std::string, Inspection> apps;
};
[[nodiscard]] Result<Inspection> inspect_image(const Image& image);

} // namespace cybele::images
