// SPDX-License-Identifier: Apache-2.0
#include "builder/files/copy.hpp"

#include "builder/files/expand.hpp"
#include "definitions/grammar/scan.hpp"
#include "runtime/namespaces/resolve.hpp"
#include "support/directory.hpp"
#include "support/encoding.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"
#include "support/root_walk.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <unordered_map>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::builder {
namespace {

namespace fs = std::filesystem;

/// Copies from one root into another.
class Copier {
public:
    Copier(const Copy& what, const CopyFrom& from, int source_root, int root)
        : from_(from), is_listed_(what.listing != nullptr), source_root_(source_root), root_(root) {
        for (std::size_t i = 0; is_listed_ && i < what.listing->files.size(); ++i) {
            listed_.emplace(what.listing->files[i].path.native(), &what.listing->files[i]);
        }
    }

    /// `to` is where the source itself shall appear; a directory there is filled.
    [[nodiscard]] Result<void> copy(const fs::path& source, const fs::path& to, int depth = 0);

private:
    [[nodiscard]] Result<void>
    copy_directory(const CopiedNode& node, const fs::path& source, const fs::path& to, int depth);
    [[nodiscard]] Result<void>
    copy_entries(const CopiedNode& node, const fs::path& source, const fs::path& to, int depth);
    [[nodiscard]] Result<void>
    copy_file(const CopiedNode& node, const fs::path& source, const fs::path& to);
    [[nodiscard]] Result<void> copy_link(const CopiedNode& node, const fs::path& to);
    [[nodiscard]] Result<void> copy_fifo(const CopiedNode& node, const fs::path& to);
    [[nodiscard]] Result<UniqueFd> place_for(const fs::path& to);
    void set_status(int fd, const struct stat& status) const;
    /// What was listed; null: nothing.
    [[nodiscard]] const CopiedFile* listed(const fs::path& source) const {
        const auto found = listed_.find(source.native());
        return found == listed_.end() ? nullptr : found->second;
    }

    const CopyFrom& from_;
    bool is_listed_;
    std::unordered_map<std::string, const CopiedFile*> listed_;
    int source_root_;
    int root_;
};

tl::unexpected<Error> too_deep(const fs::path& source) {
    return fail(ErrorCode::kInput,
                problem("copy-too-deep", "cannot copy " + printable(source.native())),
                "its directories are too deep, or a link in it leads back into it");
}

tl::unexpected<Error> changed_since(const fs::path& source) {
    return fail(ErrorCode::kEnvironment,
                problem("copy-source-changed",
                        printable(source.native()) + " changed while the image was built"),
                "the image would not be made from what the build listed at its beginning",
                "build again when nothing writes to it, or leave it out by a .dockerignore");
}

Result<void> Copier::copy(const fs::path& source, const fs::path& to, int depth) {
    const CopiedFile* const known = listed(source);
    if (is_listed_ && known == nullptr) {
        return {}; // left out, or new
    }
    if (depth > kDeepestCopy) {
        return too_deep(source);
    }
    const Links links = depth == 0 || !from_.is_stage ? Links::kFollow : Links::kKeep;
    const auto node = open_node(source_root_, source, links);
    if (!node && known != nullptr && known->mode != 0) {
        return changed_since(source);
    }
    if (!node) {
        return fail(ErrorCode::kInput,
                    problem("copy-source-missing", "cannot copy " + printable(source.native())),
                    errno == ENOENT ? "it does not exist, or is a link that leads nowhere"
                                    : system_error("", errno).faults().front().because,
                    "correct the link, or remove it");
    }
    const mode_t mode = node->status.st_mode;
    if (known != nullptr && known->mode != mode) {
        return known->mode == 0 && S_ISDIR(mode) ? too_deep(source) : changed_since(source);
    }
    if (S_ISDIR(mode)) {
        return known == nullptr || known->is_made ? copy_directory(*node, source, to, depth)
                                                  : copy_entries(*node, source, to, depth);
    }
    if (S_ISREG(mode)) {
        return copy_file(*node, source, to);
    }
    if (S_ISLNK(mode)) {
        return copy_link(*node, to);
    }
    if (S_ISFIFO(mode)) {
        return copy_fifo(*node, to);
    }
    return fail(ErrorCode::kInput,
                problem("copy-source-kind", "cannot copy " + printable(source.native())),
                "it is a device or a socket");
}

void Copier::set_status(int fd, const struct stat& status) const {
    if (from_.is_stage) {
        (void)!::fchown(fd, status.st_uid, status.st_gid);
    }
    constexpr mode_t kOfDirectory = 01777;
    constexpr mode_t kOfFile = 0777;
    mode_t mode = status.st_mode & ALLPERMS;
    if (from_.mask) {
        mode &= (S_ISDIR(status.st_mode) ? kOfDirectory : kOfFile) & ~*from_.mask;
    }
    (void)::fchmod(fd, mode);
    const std::array<timespec, 2> times{status.st_mtim, status.st_mtim};
    (void)::futimens(fd, times.data());
}

Result<void> Copier::copy_directory(const CopiedNode& node,
                                    const fs::path& source,
                                    const fs::path& to,
                                    int depth) {
    const bool is_new = !namespaces::open_in_root(root_, to);
    CYBELE_TRY(const UniqueFd made, namespaces::make_in_root(root_, to, {}));
    CYBELE_CHECK(copy_entries(node, source, to, depth));
    if (is_new && (depth > 0 || from_.mask)) {
        const UniqueFd fd = reopen(made.get(), O_RDONLY | O_DIRECTORY);
        set_status(fd.get(), node.status);
    }
    return {};
}

/// The content of the folder; a folder that is left out is made where something in it is copied.
Result<void> Copier::copy_entries(const CopiedNode& node,
                                  const fs::path& source,
                                  const fs::path& to,
                                  int depth) {
    const UniqueFd readable = reopen(node.fd.get(), O_RDONLY | O_DIRECTORY);
    if (!readable.valid()) {
        return fail(system_error("cannot read " + printable(source.native()), errno));
    }
    const CopiedFile* const known = listed(source);
    CYBELE_TRY(const auto names,
               known != nullptr ? Result<std::vector<std::string>>(known->names)
                                : names_in(readable.get(), source));
    for (const std::string& name : names) {
        CYBELE_CHECK(copy(source / name, to / name, depth + 1));
    }
    return {};
}

/// Whether what was copied is what was listed.
Result<bool> is_as_listed(const CopiedFile& listed, int in, int out, const fs::path& to) {
    if (listed.stamp && stamp_of(in) == listed.stamp) {
        return true;
    }
    CYBELE_TRY(const std::uint64_t size, file_size(out, to));
    CYBELE_TRY(const Digest digest, sha256_range(out, 0, size, to));
    return hex(digest) == listed.content;
}

/// The directory of `to`, with nothing but a directory left under its name.
Result<UniqueFd> Copier::place_for(const fs::path& to) {
    CYBELE_TRY(UniqueFd parent, namespaces::make_in_root(root_, to.parent_path(), {}));
    if (::unlinkat(parent.get(), to.filename().c_str(), 0) != 0 && errno != ENOENT) {
        return fail(
            system_error("cannot replace " + printable(to.native()) + " in the image", errno));
    }
    return parent;
}

/// Where the content of a file goes: a link of the image to a file is written through, as by cp.
fs::path through_links(int root, const fs::path& to) {
    const auto node = open_node(root, to, Links::kFollow);
    return node && S_ISREG(node->status.st_mode) ? namespaces::resolve_in_root(root, to).existing
                                                 : to;
}

Result<void>
Copier::copy_file(const CopiedNode& node, const fs::path& source, const fs::path& named) {
    const fs::path to = through_links(root_, named);
    const UniqueFd in = reopen(node.fd.get(), O_RDONLY);
    if (!in.valid()) {
        return fail(system_error("cannot read " + printable(source.native()), errno));
    }
    CYBELE_TRY(const UniqueFd parent, place_for(to));
    const UniqueFd out(::openat(parent.get(),
                                to.filename().c_str(),
                                O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                0600));
    if (!out.valid()) {
        return fail(system_error("cannot make " + printable(to.native()) + " in the image", errno));
    }
    // Aligned: see archive.cpp.
    alignas(64) static thread_local std::vector<char> buffer(std::size_t{1} << 18U);
    for (;;) {
        const ssize_t count = ::read(in.get(), buffer.data(), buffer.size());
        if (count == 0) {
            break;
        }
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0) {
            return fail(system_error("cannot read " + printable(source.native()), errno));
        }
        CYBELE_CHECK(write_all(
            out.get(), std::string_view(buffer.data(), static_cast<std::size_t>(count)), to));
    }
    if (const CopiedFile* const known = listed(source)) {
        CYBELE_TRY(const bool is_same, is_as_listed(*known, in.get(), out.get(), to));
        if (!is_same) {
            return changed_since(source);
        }
    }
    set_status(out.get(), node.status);
    return {};
}

Result<void> Copier::copy_link(const CopiedNode& node, const fs::path& to) {
    const auto target = link_target(node.fd.get());
    CYBELE_TRY(const UniqueFd parent, place_for(to));
    if (!target || ::symlinkat(target->c_str(), parent.get(), to.filename().c_str()) != 0) {
        return fail(system_error("cannot make the link " + printable(to.native()), errno));
    }
    (void)!::fchownat(parent.get(),
                      to.filename().c_str(),
                      node.status.st_uid,
                      node.status.st_gid,
                      AT_SYMLINK_NOFOLLOW);
    return {};
}

Result<void> Copier::copy_fifo(const CopiedNode& node, const fs::path& to) {
    CYBELE_TRY(const UniqueFd parent, place_for(to));
    if (::mkfifoat(parent.get(), to.filename().c_str(), 0600) != 0) {
        return fail(system_error("cannot make the FIFO " + printable(to.native()), errno));
    }
    const UniqueFd made( // a reader and writer in one, which waits for nobody
        ::openat(parent.get(), to.filename().c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
    set_status(made.get(), node.status);
    return {};
}

UniqueFd open_root(const fs::path& root) {
    return UniqueFd(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

bool is_directory_in(int root, const fs::path& path) {
    const auto node = open_node(root, path, Links::kFollow);
    return node && S_ISDIR(node->status.st_mode);
}

} // namespace

UniqueFd reopen(int fd, int flags) {
    return UniqueFd(::open(fmt::format("/proc/self/fd/{}", fd).c_str(), flags | O_CLOEXEC));
}

std::optional<CopiedNode> open_node(int root, const fs::path& path, Links links) {
    CopiedNode node;
    if (links == Links::kFollow) {
        auto fd = namespaces::open_in_root(root, path);
        if (!fd) {
            return std::nullopt;
        }
        node.fd = std::move(*fd);
    } else {
        const auto parent = namespaces::open_in_root(root, path.parent_path());
        if (!parent) {
            return std::nullopt;
        }
        node.fd.reset(
            ::openat(parent->get(), path.filename().c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    }
    if (!node.fd.valid() || ::fstat(node.fd.get(), &node.status) != 0) {
        return std::nullopt;
    }
    return node;
}

Result<Copy> find_sources(const definitions::FileLine& line,
                          const CopyFrom& from,
                          const std::map<std::string, std::string>& variables,
                          const std::string& definition_file) {
    Copy copy;
    copy.destination = line.destination.empty() ? line.source : line.destination;
    copy.is_pattern = line.source.find_first_of("*?[{") != std::string::npos;
    const UniqueFd root = open_root(from.root);
    for (const std::string& word : expand_braces(line.source)) {
        const std::string expanded = expand_variables(word, variables);
        const fs::path path =
            expanded.starts_with('/') ? fs::path(expanded) : from.directory / expanded;
        for (fs::path& source : expand_pattern(from.root, path.native())) {
            if (!open_node(root.get(), source, Links::kFollow)) {
                Fault fault = definitions::fault_at(definition_file, line.line, line.text);
                fault.message =
                    "the source '" + printable(line.source) + "' of %files does not exist";
                const auto link = open_node(root.get(), source, Links::kKeep);
                const bool is_link = link && S_ISLNK(link->status.st_mode);
                fault.because =
                    (is_link ? printable(source.native()) + " is a link to a missing file"
                             : "nothing is at " + printable(source.native())) +
                    (from.is_stage ? " in that stage" : "");
                fault.help = from.is_stage ? "make it in that stage's %post"
                                           : "correct the path; relative ones begin at " +
                                                 printable(from.directory.native());
                return fail(std::move(fault));
            }
            copy.sources.push_back(std::move(source));
        }
    }
    const bool names_a_directory = copy.destination.ends_with('/') || line.destination.empty();
    if (copy.sources.size() > 1 && !names_a_directory && !from.is_stage) {
        copy.ambiguous =
            Fault(ErrorCode::kInput,
                  problem("copy-several-sources",
                          fmt::format("{} sources for one destination", copy.sources.size())),
                  "each would overwrite the one before it",
                  "end the destination with '/': '" + printable(copy.destination) + "/'",
                  definitions::fault_at(definition_file, line.line, line.text).where);
    }
    return copy;
}

CopyFrom from_host(const StepRules& rules) {
    return {"/", {}, false, rules.follows_apptainer ? std::optional(rules.umask) : std::nullopt};
}

Result<void> copy_files(const Copy& copy, const CopyFrom& from, const fs::path& root) {
    const UniqueFd source_root = open_root(from.root);
    const UniqueFd target_root = open_root(root);
    Copier copier(copy, from, source_root.get(), target_root.get());
    const fs::path destination = fs::path("/") / fs::path(copy.destination).relative_path();
    if (copy.ambiguous && !is_directory_in(target_root.get(), destination)) {
        return fail(*copy.ambiguous);
    }
    for (const fs::path& source : copy.sources) {
        const bool into =
            copy.destination.ends_with('/') || is_directory_in(target_root.get(), destination);
        fs::path name =
            source.filename().empty() ? source.parent_path().filename() : source.filename();
        fs::path to = destination;
        if (into) {
            to /= name;
        }
        CYBELE_CHECK(copier.copy(source, to));
    }
    return {};
}

void add_to_digest(const std::string& destination, const Listing& listing, Sha256& digest) {
    digest.update(destination + "\n");
    for (const CopiedFile& file : listing.files) {
        digest.update(fmt::format("{}\n{:o}\n", file.path.native(), file.mode));
        if (!file.content.empty()) {
            digest.update(file.content + "\n");
        }
    }
}

} // namespace cybele::builder
