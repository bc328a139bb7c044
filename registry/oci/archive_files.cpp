// SPDX-License-Identifier: Apache-2.0
// Images in tar files: `docker save`, `skopeo copy … oci-archive:`.
#include "registry/oci/layout.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/quote.hpp"

#include <array>
#include <cerrno>
#include <map>

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <fmt/format.h>

namespace cybele::registry {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kBlock = std::size_t{1} << 20U;
constexpr std::size_t kLargestText = std::size_t{8} << 20U;
constexpr std::size_t kMostEntries = 100'000;
constexpr int kMostLinks = 8;

struct FreeReader {
    void operator()(archive* a) const {
        archive_read_free(a);
    }
};
using Reader = std::unique_ptr<archive, FreeReader>;

struct Part {
    std::uint64_t size = 0;
    std::string link; ///< another entry that it stands for; empty: it is itself
};

/// `./a/b` and `a/b` are one name.
std::string plain_name(std::string_view name) {
    while (name.starts_with("./")) {
        name.remove_prefix(2);
    }
    return std::string(name);
}

/// What a link in an archive of docker leads to: `../<id>/layer.tar`.
std::string link_target(const std::string& from, const std::string& to) {
    return to.starts_with("../") || to.find('/') == std::string::npos
               ? (fs::path(from).parent_path() / to).lexically_normal().native()
               : plain_name(to);
}

class Archive : public LocalFiles {
public:
    Archive(fs::path path, Layers layers, std::int64_t now)
        : path_(std::move(path)), layers_(std::move(layers)), now_(now) {}

    Result<void> list() {
        CYBELE_TRY(const Reader reader, open());
        for (archive_entry* entry = nullptr;;) {
            CYBELE_TRY(const bool is_there, next(reader.get(), entry));
            if (!is_there) {
                return {};
            }
            const char* name = archive_entry_pathname(entry);
            if (name == nullptr) {
                continue;
            }
            Part part;
            part.size = static_cast<std::uint64_t>(archive_entry_size(entry));
            const char* soft = archive_entry_symlink(entry);
            const char* hard = archive_entry_hardlink(entry);
            if (soft != nullptr) {
                part.link = link_target(plain_name(name), soft);
            } else if (hard != nullptr) {
                part.link = plain_name(hard);
            }
            parts_.insert_or_assign(plain_name(name), part);
            if (parts_.size() > kMostEntries) {
                return fail(ErrorCode::kInput,
                            problem("archive-too-many-entries",
                                    printable(path_.native()) + " is not an archive of an image"),
                            fmt::format("it has more than {} entries", kMostEntries),
                            "name an archive that `docker save` or `skopeo copy` made");
            }
        }
    }

    bool has(const std::string& name) override {
        return parts_.contains(name);
    }

    Result<std::string> text(const std::string& name) override {
        std::string bytes;
        CYBELE_CHECK(read(name, [&](std::string_view piece) -> Result<void> {
            bytes += piece;
            if (bytes.size() > kLargestText) {
                return fail(
                    ErrorCode::kInput,
                    problem("archive-manifest-too-big",
                            printable(name) + " in " + printable(path_.native()) + " is too big"),
                    "a manifest has at most 8 MiB",
                    "name an archive that `docker save` or `skopeo copy` made");
            }
            return {};
        }));
        return bytes;
    }

    Result<HeldLayer> file(const std::string& name, const ContentDescriptor& descriptor) override {
        CYBELE_TRY(const std::string own, resolve(name));
        const std::uint64_t size = parts_[own].size;
        const auto wrong = [&](const std::string& because) {
            return fail(ErrorCode::kVerification,
                        problem("archive-entry-wrong",
                                fmt::format("{} in {} is not what it should be",
                                            printable(name),
                                            printable(path_.native()))),
                        because,
                        "re-create the archive from an intact source");
        };
        if (descriptor.size != 0 && size != descriptor.size) {
            return wrong(
                fmt::format("it has {} bytes, its manifest says {}", size, descriptor.size));
        }
        return layers_.get(descriptor.digest, size, now_, [&](const fs::path& to) -> Result<void> {
            const UniqueFd fd(::open(to.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOFOLLOW));
            if (!fd.valid()) {
                return fail(system_error("cannot write " + printable(to.native()), errno));
            }
            Sha256 hash;
            CYBELE_CHECK(read(own, [&](std::string_view piece) -> Result<void> {
                hash.update(piece);
                return write_all(fd.get(), piece, to);
            }));
            if (const std::string found = "sha256:" + hex(hash.finish());
                found != descriptor.digest) {
                return wrong("its digest is " + found + ", not " + descriptor.digest);
            }
            return {};
        });
    }

private:
    using Sink = std::function<Result<void>(std::string_view)>;

    [[nodiscard]] Error damaged(archive* reader) const {
        const char* text = archive_error_string(reader);
        return {ErrorCode::kInput,
                problem("archive-damaged", "cannot read " + printable(path_.native())),
                text != nullptr ? printable(text) : "",
                "is it a complete tar file?"};
    }

    [[nodiscard]] Result<Reader> open() const {
        Reader reader(archive_read_new());
        archive_read_support_format_tar(reader.get());
        archive_read_support_filter_gzip(reader.get());
        archive_read_support_filter_zstd(reader.get());
        if (archive_read_open_filename(reader.get(), path_.c_str(), kBlock) != ARCHIVE_OK) {
            return fail(damaged(reader.get()));
        }
        return reader;
    }

    [[nodiscard]] Result<bool> next(archive* reader, archive_entry*& entry) const {
        const int status = archive_read_next_header(reader, &entry);
        if (status == ARCHIVE_EOF) {
            return false;
        }
        if (status < ARCHIVE_WARN) {
            return fail(damaged(reader));
        }
        return true;
    }

    /// The entry that holds the bytes.
    [[nodiscard]] Result<std::string> resolve(const std::string& name) const {
        std::string own = name;
        for (int links = 0; links < kMostLinks; ++links) {
            const auto found = parts_.find(own);
            if (found == parts_.end()) {
                break;
            }
            if (found->second.link.empty()) {
                return own;
            }
            own = found->second.link;
        }
        return fail(ErrorCode::kInput,
                    problem("archive-incomplete", printable(path_.native()) + " is not complete"),
                    "it has no " + printable(name),
                    "make it again: `docker save`, `skopeo copy`");
    }

    [[nodiscard]] Result<void> read(const std::string& name, const Sink& sink) const {
        CYBELE_TRY(const std::string own, resolve(name));
        CYBELE_TRY(const Reader reader, open());
        for (archive_entry* entry = nullptr;;) {
            CYBELE_TRY(const bool is_there, next(reader.get(), entry));
            const char* here = is_there ? archive_entry_pathname(entry) : nullptr;
            if (!is_there) {
                return fail(ErrorCode::kInput,
                            problem("archive-changed",
                                    printable(path_.native()) + " was changed while it was read"),
                            {},
                            "try again");
            }
            if (here == nullptr || plain_name(here) != own) {
                continue;
            }
            std::string buffer(kBlock, '\0');
            for (;;) {
                const la_ssize_t count =
                    archive_read_data(reader.get(), buffer.data(), buffer.size());
                if (count == 0) {
                    return {};
                }
                if (count < 0) {
                    return fail(damaged(reader.get()));
                }
                CYBELE_CHECK(
                    sink(std::string_view(buffer.data(), static_cast<std::size_t>(count))));
            }
        }
    }

    fs::path path_;
    Layers layers_;
    std::int64_t now_;
    std::map<std::string, Part> parts_;
};

} // namespace

Result<std::unique_ptr<LocalFiles>>
open_archive(const fs::path& path, const Store& store, std::int64_t now) {
    auto archive = std::make_unique<Archive>(path, Layers(store.place()), now);
    CYBELE_CHECK(archive->list());
    return std::unique_ptr<LocalFiles>(std::move(archive));
}

} // namespace cybele::registry
