// SPDX-License-Identifier: Apache-2.0
#include "builder/files/listing.hpp"

#include "builder/files/copy.hpp"
#include "builder/files/secrets.hpp"
#include "support/directory.hpp"
#include "support/encoding.hpp"
#include "support/root_walk.hpp"

#include <algorithm>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::builder {
namespace {

namespace fs = std::filesystem;

/// What rules a listing; null: no rule.
struct ListRules {
    const BuildContext* taken = nullptr;
    const BuildContext* inputs = nullptr;
    ContextFiles::Reads reads = ContextFiles::Reads::kAll;
    bool is_pattern = false;
};

class Lister {
public:
    Lister(ListRules rules, int root, Links links, registry::KnownFiles& known, Listing& listing)
        : rules_(rules), root_(root), links_(links), known_(known), listing_(listing) {}

    /// `name` is the one for the user; `is_input`: the folder above is one.
    void add(const fs::path& path, const std::string& name, int depth, bool is_input) {
        const auto node = open_node(root_, path, depth == 0 ? Links::kFollow : links_);
        if (!node || depth > kDeepestCopy || is_within(*node)) {
            if (ask(rules_.taken, path, {}, depth).is_taken()) {
                // The copy refuses it, so it is not what it was.
                put(path, 0).is_input = is_input && ask(rules_.inputs, path, {}, depth).is_taken();
            }
            return;
        }
        const auto answer = ask(rules_.taken, path, *node, depth);
        if (!answer.is_taken() && !answer.may_hold) {
            listing_.taken.left_out.push_back({name, answer.because});
        }
        is_input = is_input && is_input_too(path, *node, name, depth);
        if (!answer.is_taken() && !answer.may_hold) {
            return;
        }
        CopiedFile& file = put(path, node->status.st_mode);
        file.is_made = answer.is_taken();
        file.is_input = is_input;
        if (S_ISREG(node->status.st_mode)) {
            read(*node, name, file);
        } else if (S_ISLNK(node->status.st_mode)) {
            file.content = link_target(node->fd.get()).value_or(std::string());
        } else if (S_ISDIR(node->status.st_mode)) {
            const UniqueFd readable = reopen(node->fd.get(), O_RDONLY | O_DIRECTORY);
            file.names = names_in(readable.get(), path).value_or(std::vector<std::string>());
            add_names(*node, file.names, path, name, depth, is_input);
        }
    }

private:
    static BuildContext::Answer ask_rules(const BuildContext& rules,
                                          const fs::path& path,
                                          const CopiedNode& node,
                                          bool is_named) {
        return is_named && S_ISDIR(node.status.st_mode) ? BuildContext::Answer()
                                                        : rules.look(path, node, is_named);
    }
    [[nodiscard]] BuildContext::Answer
    ask(const BuildContext* rules, const fs::path& path, const CopiedNode& node, int depth) const {
        const bool is_named = depth == 0 && !rules_.is_pattern;
        return rules == nullptr ? BuildContext::Answer() : ask_rules(*rules, path, node, is_named);
    }
    [[nodiscard]] bool
    is_input_too(const fs::path& path, const CopiedNode& node, const std::string& name, int depth) {
        const auto answer = ask(rules_.inputs, path, node, depth);
        if (answer.is_taken() || answer.may_hold) {
            return true;
        }
        listing_.inputs.left_out.push_back({name, answer.because});
        return false;
    }

    CopiedFile& put(const fs::path& path, std::uint32_t mode) {
        CopiedFile& file = listing_.files.emplace_back();
        file.path = path;
        file.mode = mode;
        return file;
    }

    /// Whether the folder is one of those above it: a link leads back.
    [[nodiscard]] bool is_within(const CopiedNode& node) const {
        return std::ranges::any_of(above_, [&](const struct stat* folder) {
            return folder->st_dev == node.status.st_dev && folder->st_ino == node.status.st_ino;
        });
    }

    /// `names` is a copy: what is added moves the list of files.
    // NOLINTNEXTLINE(readability-function-size): the place of a folder
    void add_names(const CopiedNode& folder,
                   std::vector<std::string> names, // NOLINT(performance-unnecessary-value-param)
                   const fs::path& path,
                   const std::string& name,
                   int depth,
                   bool is_input) {
        const bool is_top = depth == 0 && !rules_.is_pattern;
        above_.push_back(&folder.status);
        for (const std::string& one : names) {
            add(path / one, is_top ? one : (fs::path(name) / one).native(), depth + 1, is_input);
        }
        above_.pop_back();
    }

    [[nodiscard]] bool reads(const CopiedFile& file) const {
        using Reads = ContextFiles::Reads;
        return rules_.reads == Reads::kAll || (rules_.reads == Reads::kInputs && file.is_input);
    }

    /// Opened even where it is known: by that NFS learns of changes.
    void read(const CopiedNode& node, const std::string& name, CopiedFile& file) {
        const UniqueFd in = reopen(node.fd.get(), O_RDONLY);
        const auto bytes = static_cast<std::uint64_t>(node.status.st_size);
        if (reads(file)) {
            const std::int64_t now = nanoseconds_now();
            const auto stamp = in.valid() ? stamp_of(in.get()) : std::nullopt;
            if (const auto content = known_.content_of(in.get(), file.path)) {
                file.content = hex(*content);
            }
            if (stamp && stamp->is_settled(now) && stamp_of(in.get()) == stamp) {
                file.stamp = stamp;
            }
        }
        if (rules_.taken == nullptr) {
            return;
        }
        const char* const secret = secret_in(name, in.get(), bytes);
        count(listing_.taken, name, bytes, secret);
        if (file.is_input && rules_.inputs != nullptr) {
            count(listing_.inputs, name, bytes, secret);
        }
    }
    static void
    count(TakenFiles& survey, const std::string& name, std::uint64_t bytes, const char* secret) {
        ++survey.files;
        survey.bytes += bytes;
        if (secret != nullptr) {
            survey.secrets.push_back({name, secret});
        }
    }

    ListRules rules_;
    int root_;
    Links links_;
    registry::KnownFiles& known_;
    Listing& listing_;
    std::vector<const struct stat*> above_;
};

Listing list_sources(const Copy& copy,
                     const CopyFrom& from,
                     const ListRules& rules,
                     registry::KnownFiles& known) {
    Listing listing;
    const UniqueFd root(::open(from.root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    const Links links = from.is_stage ? Links::kKeep : Links::kFollow;
    Lister lister(rules, root.get(), links, known, listing);
    for (const fs::path& source : copy.sources) {
        const fs::path place = source.lexically_normal();
        lister.add(source,
                   place.filename().empty() ? place.parent_path().filename().native()
                                            : place.filename().native(),
                   0,
                   true);
    }
    return listing;
}

} // namespace

Listing list_all(const Copy& copy, const CopyFrom& from, registry::KnownFiles& known) {
    return list_sources(copy, from, {}, known);
}

std::shared_ptr<const Listing> ContextFiles::list(const Copy& copy) {
    auto& listing = listings_[{copy.is_pattern, copy.sources}];
    if (!listing) {
        const ListRules rules{&taken_, inputs_ ? &*inputs_ : nullptr, reads_, copy.is_pattern};
        Listing found = list_sources(copy, {}, rules, known_);
        if (!inputs_) {
            found.inputs = found.taken;
        }
        listing = std::make_shared<const Listing>(std::move(found));
    }
    return listing;
}

} // namespace cybele::builder
