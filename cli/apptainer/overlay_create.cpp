// SPDX-License-Identifier: Apache-2.0
#include "cli/apptainer/overlay_create.hpp"

#include "cli/common/image_store.hpp"
#include "cli/run/flag_words.hpp"
#include "images/sif/sif.hpp"
#include "images/signatures/signed.hpp"
#include "support/file.hpp"
#include "support/process.hpp"
#include "support/quote.hpp"

#include <cerrno>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace cybele::cli {

namespace {

namespace fs = std::filesystem;

constexpr long kLeastOverlay = 64;
constexpr off_t kOverlayMib = off_t{1} << 20U;
constexpr std::uint64_t kPartitionAlignment = 4096;
constexpr std::size_t kOverlayPiece = std::size_t{1} << 20U;
constexpr const char* kToolFolders = "/usr/sbin:/sbin:/usr/bin:/bin";

/// A folder that goes with this object.
class OverlayFolder {
public:
    explicit OverlayFolder(fs::path path) : path_(std::move(path)) {}
    OverlayFolder(const OverlayFolder&) = delete;
    OverlayFolder& operator=(const OverlayFolder&) = delete;
    ~OverlayFolder() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    [[nodiscard]] const fs::path& path() const {
        return path_;
    }

private:
    fs::path path_;
};

Result<long> overlay_size(const OtherCall& call) {
    const std::string text = call.has("--size") ? call.value("--size") : "64";
    const bool is_number = !text.empty() && text.size() < 8 &&
                           text.find_first_not_of("0123456789") == std::string::npos;
    const long size = is_number ? std::stol(text) : 0;
    if (size < kLeastOverlay) {
        return fail(
            ErrorCode::kInput,
            problem("overlay-too-small", "an overlay of " + printable(text) + " MiB is too small"),
            fmt::format("it needs at least {} MiB", kLeastOverlay),
            fmt::format("write --size {}", kLeastOverlay));
    }
    return size;
}

/// upper and work, and in upper the folders that were asked for.
Result<void> make_overlay_tree(const fs::path& tree, const OtherCall& call) {
    std::error_code failed;
    fs::create_directories(tree / "upper", failed);
    fs::create_directories(tree / "work", failed);
    for (const auto& [flag, value] : call.flags) {
        for (const std::string& one :
             flag->has_name("--create-dir") ? read_list(value) : std::vector<std::string>()) {
            const fs::path inside = fs::path("upper/" + one).lexically_normal();
            if (*inside.begin() != "upper") {
                return fail(
                    ErrorCode::kInput,
                    problem("overlay-directory-outside",
                            "--create-dir: '" + printable(one) + "' is outside the overlay"),
                    "it leads above the root of the container",
                    "write a path of the container, such as /data");
            }
            if (!failed) {
                fs::create_directories(tree / inside, failed);
            }
        }
    }
    return failed ? Result<void>(fail(
                        system_error("cannot make the folders of the overlay", failed.value())))
                  : Result<void>();
}

/// The file system of `size` MiB in a new file.
Result<void>
make_overlay_file(const fs::path& file, const fs::path& tree, long size, const OtherCall& call) {
    const auto own = find_program("mkfs.ext3");
    const auto program = own ? own : find_program("mkfs.ext3", kToolFolders);
    if (!program) {
        return fail(ErrorCode::kEnvironment,
                    problem("overlay-tool-missing", "mkfs.ext3 is not installed"),
                    "it makes the file system of the overlay",
                    "install e2fsprogs, or use a directory: --overlay DIR");
    }
    {
        const UniqueFd fd(open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
        const off_t bytes = size * kOverlayMib;
        const bool is_made =
            fd.valid() && (call.has("--sparse") ? ftruncate(fd.get(), bytes) == 0
                                                : posix_fallocate(fd.get(), 0, bytes) == 0);
        if (!is_made) {
            return fail(system_error("cannot make '" + printable(file.native()) + "'", errno));
        }
    }
    std::vector<std::string> words = {program->native(), "-q", "-F", "-d", tree.native()};
    if (call.has("--fakeroot")) {
        words.emplace_back("-E");
        words.emplace_back("root_owner=0:0");
    }
    words.push_back(file.native());
    Command command;
    command.argv = std::move(words);
    CYBELE_TRY(const Outcome outcome, run_process(command));
    if (!outcome.ok()) {
        std::error_code ignored;
        fs::remove(file, ignored);
        return fail(ErrorCode::kEnvironment,
                    problem("overlay-not-made", "mkfs.ext3 failed"),
                    printable(outcome.errors.substr(0, outcome.errors.find('\n'))),
                    "check the space of the folder");
    }
    return {};
}

Result<void> add_overlay_to_image(const fs::path& image, const fs::path& file, std::int64_t now) {
    CYBELE_TRY(const images::Image opened, images::Image::open(image));
    CYBELE_TRY(const images::Descriptor root, opened.primary_partition());
    if (images::is_signed(opened)) {
        return fail(ErrorCode::kInput,
                    problem("overlay-of-signed-image",
                            "the image '" + printable(image.native()) + "' is signed")
                        .about(image.native()),
                    "an overlay would make its signatures invalid",
                    "make the overlay in a file of its own: apptainer overlay create FILE");
    }
    if (!opened.overlays_of(root).empty()) {
        return fail(ErrorCode::kInput,
                    problem("overlay-exists",
                            "the image '" + printable(image.native()) + "' has an overlay already")
                        .about(image.native(), std::to_string(opened.overlays_of(root).front().id)),
                    fmt::format("one image has one writable overlay: its object '{}'",
                                opened.overlays_of(root).front().id),
                    "delete it by `sif del`");
    }
    images::NewObject object;
    object.type = images::DataType::kPartition;
    object.group = root.group;
    object.name = file.filename().native();
    object.extra =
        images::partition_extra(images::FsType::kExt3, images::PartType::kOverlay, root.arch());
    object.alignment = kPartitionAlignment;
    object.write = [&file](int fd, std::uint64_t offset) -> Result<std::uint64_t> {
        CYBELE_TRY(const UniqueFd from, open_for_reading(file));
        CYBELE_TRY(const std::uint64_t size, file_size(from.get(), file));
        std::string piece(kOverlayPiece, '\0');
        for (std::uint64_t done = 0; done < size;) {
            const ssize_t got = read(from.get(), piece.data(), piece.size());
            const ssize_t put = got <= 0 ? -1
                                         : pwrite(fd,
                                                  piece.data(),
                                                  static_cast<std::size_t>(got),
                                                  static_cast<off_t>(offset + done));
            if (put != got) {
                return fail(system_error("cannot copy the overlay into the image", errno));
            }
            done += static_cast<std::uint64_t>(got);
        }
        return size;
    };
    return images::add_objects(image, {object}, now);
}

bool is_extfs(const fs::path& file) {
    constexpr std::streamoff kMagicAt = 1024 + 56; // of the superblock
    std::ifstream in(file, std::ios::binary);
    char magic[2] = {};
    return in.seekg(kMagicAt) && in.read(magic, 2) && magic[0] == '\x53' && magic[1] == '\xef';
}

} // namespace

Result<int> create_overlay(const Session& session, const OtherCall& call) {
    CYBELE_TRY(const long size, overlay_size(call));
    const fs::path file = call.words.front();
    std::error_code ignored;
    const bool has_image = fs::is_regular_file(file, ignored) && images::Image::open(file);
    if (fs::is_directory(file, ignored)) {
        return fail(ErrorCode::kInput,
                    problem("overlay-image-kind", "destination image must be SIF image"));
    }
    if (fs::exists(file, ignored) && !has_image && !is_extfs(file)) {
        return fail(ErrorCode::kInput,
                    problem("overlay-image-kind",
                            "while opening image file " + printable(file.native()) +
                                ": image format not recognized"));
    }
    if (fs::exists(file, ignored) && !has_image) {
        return fail(ErrorCode::kInput,
                    problem("overlay-file-exists", printable(file.native()) + " exists already")
                        .about(file.native()),
                    "an existing file is not turned into an overlay",
                    "name a new file");
    }
    if (has_image) {
        CYBELE_CHECK(changeable_image_path(session, file.native()));
    }
    std::string pattern = (fs::absolute(file, ignored).parent_path() / ".overlay.XXXXXX").native();
    if (mkdtemp(pattern.data()) == nullptr) {
        return fail(
            system_error("cannot make a folder next to '" + printable(file.native()) + "'", errno));
    }
    const OverlayFolder folder(pattern);
    CYBELE_CHECK(make_overlay_tree(folder.path() / "tree", call));
    const fs::path made = folder.path() / "overlay.img";
    CYBELE_CHECK(make_overlay_file(made, folder.path() / "tree", size, call));
    if (has_image) {
        CYBELE_CHECK(add_overlay_to_image(file, made, session.now()));
        return 0;
    }
    if (fs::is_symlink(file, ignored)) { // to nothing: the overlay takes its place, as there
        fs::remove(file, ignored);
    }
    if (renameat2(AT_FDCWD, made.c_str(), AT_FDCWD, file.c_str(), RENAME_NOREPLACE) != 0) {
        return fail(system_error("cannot make '" + printable(file.native()) + "'", errno));
    }
    return 0;
}

} // namespace cybele::cli
