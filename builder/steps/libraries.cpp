// SPDX-License-Identifier: Apache-2.0
#include "builder/steps/libraries.hpp"

#include "builder/steps/elf.hpp"
#include "runtime/namespaces/resolve.hpp"
#include "support/directory.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <deque>
#include <optional>
#include <set>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::builder {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFilesLooked = 20'000;
constexpr std::size_t kMostLibraries = 512; ///< of one program
constexpr std::size_t kMostMissing = 20;

/// Debian 12's packages of libraries that programs of HPC ask for; `*` ends a name's start.
struct LibraryRow {
    std::string_view library;
    std::string_view package;
};
constexpr LibraryRow kLibraries[] = {
    {"libblas.so.3", "libblas3"},
    {"libboost_filesystem.so.*", "libboost-filesystem1.74.0"},
    {"libboost_iostreams.so.*", "libboost-iostreams1.74.0"},
    {"libboost_mpi.so.*", "libboost-mpi1.74.0"},
    {"libboost_program_options.so.*", "libboost-program-options1.74.0"},
    {"libboost_serialization.so.*", "libboost-serialization1.74.0"},
    {"libboost_system.so.*", "libboost-system1.74.0"},
    {"libboost_thread.so.*", "libboost-thread1.74.0"},
    {"libbz2.so.1.0", "libbz2-1.0"},
    {"libcrypto.so.3", "libssl3"},
    {"libcurl.so.4", "libcurl4"},
    {"libexpat.so.1", "libexpat1"},
    {"libfftw3.so.3", "libfftw3-double3"},
    {"libfftw3_mpi.so.3", "libfftw3-mpi3"},
    {"libfftw3f.so.3", "libfftw3-single3"},
    {"libgcc_s.so.1", "libgcc-s1"},
    {"libgdal.so.32", "libgdal32"},
    {"libgeos_c.so.1", "libgeos-c1v5"},
    {"libgfortran.so.5", "libgfortran5"},
    {"libgmp.so.10", "libgmp10"},
    {"libgomp.so.1", "libgomp1"},
    {"libgsl.so.27", "libgsl27"},
    {"libgslcblas.so.0", "libgslcblas0"},
    {"libhdf5_openmpi.so.103", "libhdf5-openmpi-103-1"},
    {"libhdf5_serial.so.103", "libhdf5-103-1"},
    {"libhwloc.so.15", "libhwloc15"},
    {"liblapack.so.3", "liblapack3"},
    {"liblzma.so.5", "liblzma5"},
    {"libmetis.so.5", "libmetis5"},
    {"libmpi.so.40", "libopenmpi3"},
    {"libmpi_cxx.so.40", "libopenmpi3"},
    {"libmpi_mpifh.so.40", "libopenmpi3"},
    {"libmpi_usempif08.so.40", "libopenmpi3"},
    {"libmpich.so.12", "libmpich12"},
    {"libmpichcxx.so.12", "libmpich12"},
    {"libmpichfort.so.12", "libmpich12"},
    {"libnetcdf.so.19", "libnetcdf19"},
    {"libnetcdff.so.7", "libnetcdff7"},
    {"libnuma.so.1", "libnuma1"},
    {"libomp.so.5", "libomp5-14"},
    {"libopenblas.so.0", "libopenblas0"},
    {"libpng16.so.16", "libpng16-16"},
    {"libproj.so.25", "libproj25"},
    {"libpython3.11.so.1.0", "libpython3.11"},
    {"libquadmath.so.0", "libquadmath0"},
    {"libscalapack-openmpi.so.2.2", "libscalapack-openmpi2.2"},
    {"libsqlite3.so.0", "libsqlite3-0"},
    {"libssl.so.3", "libssl3"},
    {"libstdc++.so.6", "libstdc++6"},
    {"libtbb.so.12", "libtbb12"},
    {"libucp.so.0", "libucx0"},
    {"libxml2.so.2", "libxml2"},
    {"libyaml-cpp.so.0.7", "libyaml-cpp0.7"},
    {"libz.so.1", "zlib1g"},
};

/// What `exec --nv` and `--rocm` bring from the host.
constexpr std::string_view kFromHost[] = {"libcuda.so.*",
                                          "libcudadebugger.so.*",
                                          "libnvcuvid.so.*",
                                          "libnvidia-*",
                                          "libhsa-runtime64.so.*"};

constexpr std::string_view kUsualFolders[] = {"/lib/x86_64-linux-gnu",
                                              "/usr/lib/x86_64-linux-gnu",
                                              "/lib/aarch64-linux-gnu",
                                              "/usr/lib/aarch64-linux-gnu",
                                              "/lib64",
                                              "/usr/lib64",
                                              "/lib",
                                              "/usr/lib"};

bool is_library_like(std::string_view name, std::string_view pattern) {
    return pattern.ends_with('*') ? name.starts_with(pattern.substr(0, pattern.size() - 1))
                                  : name == pattern;
}

std::string package_of(std::string_view library) {
    const auto* const row = std::ranges::find_if(kLibraries, [&](const LibraryRow& known) {
        return is_library_like(library, known.library);
    });
    return row == std::end(kLibraries) ? std::string() : std::string(row->package);
}

bool is_from_host(std::string_view library) {
    return std::ranges::any_of(
        kFromHost, [&](std::string_view pattern) { return is_library_like(library, pattern); });
}

/// An image's tree, of which links never lead out.
class LibraryTree {
public:
    LibraryTree(const fs::path& root, std::vector<std::string> library_path)
        : root_(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)),
          library_path_(std::move(library_path)) {
        read_configuration("/etc/ld.so.conf", 0);
        folders_.insert(folders_.end(), std::begin(kUsualFolders), std::end(kUsualFolders));
    }

    [[nodiscard]] bool is_open() const {
        return root_.valid();
    }

    /// Opens for reading what is a regular file.
    [[nodiscard]] UniqueFd open_file(const std::string& path) const {
        const auto found = namespaces::open_in_root(root_.get(), path);
        struct stat status {};
        if (!found || ::fstat(found->get(), &status) != 0 || !S_ISREG(status.st_mode)) {
            return {};
        }
        return open_found(found->get());
    }

    /// Opens for reading a regular file of which a few places are read: in a squashfs each of them
    /// costs a block, and what the kernel reads ahead costs more.
    [[nodiscard]] static UniqueFd open_found(int found) {
        const std::string own = "/proc/self/fd/" + std::to_string(found);
        UniqueFd fd(::open(own.c_str(), O_RDONLY | O_CLOEXEC));
        (void)::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_RANDOM);
        return fd;
    }

    [[nodiscard]] std::optional<UniqueFd> open_path(const std::string& path) const {
        return namespaces::open_in_root(root_.get(), path);
    }

    /// The library's path in the image, by the loader's order.
    [[nodiscard]] std::optional<std::string> find(const std::string& name,
                                                  const std::vector<std::string>& first) const {
        if (name.find('/') != std::string::npos) {
            return open_path(name) ? std::optional(name) : std::nullopt;
        }
        for (const auto* folders : {&first, &library_path_, &folders_}) {
            for (const std::string& folder : *folders) {
                const std::string path = (fs::path(folder) / name).native();
                if (!folder.empty() && open_path(path)) {
                    return path;
                }
            }
        }
        return std::nullopt;
    }

private:
    void read_configuration(const std::string& path, int depth) {
        constexpr int kDeepest = 4;
        constexpr std::size_t kMostLibraryFolders = 200;
        if (depth > kDeepest || !configurations_.insert(path).second) {
            return;
        }
        const UniqueFd fd = open_file(path);
        if (!fd.valid()) {
            return;
        }
        const std::string own = "/proc/self/fd/" + std::to_string(fd.get());
        const std::string text = read_file(own, std::size_t{64} << 10U).value_or("");
        for (const std::string_view line : text::split_terminated(text, '\n')) {
            if (line.starts_with("include ")) {
                include(text::trimmed(line.substr(line.find(' '))), depth);
            } else if (line.starts_with('/') && folders_.size() < kMostLibraryFolders) {
                folders_.emplace_back(line.substr(0, line.find_first_of(" \t#\r")));
            }
        }
    }

    /// `include /etc/ld.so.conf.d/*.conf`, the one form in use.
    void include(std::string_view pattern, int depth) {
        const fs::path path(pattern);
        const std::string folder = path.parent_path().native();
        if (path.filename() != "*.conf") {
            read_configuration(path.native(), depth + 1);
            return;
        }
        const auto directory = open_path(folder);
        const auto names =
            directory ? names_in(directory->get(), folder) : Result<std::vector<std::string>>();
        if (!directory || !names) {
            return;
        }
        for (const std::string& name : *names) {
            if (name.ends_with(".conf")) {
                read_configuration((path.parent_path() / name).native(), depth + 1);
            }
        }
    }

    UniqueFd root_;
    std::vector<std::string> library_path_;
    std::vector<std::string> folders_;
    std::set<std::string> configurations_; ///< those that were read: one may include itself
};

/// RPATH with `$ORIGIN`, which is the folder of the file.
std::vector<std::string> search_folders(const ElfFile& elf, const std::string& path) {
    const std::string origin = fs::path(path).parent_path().native();
    std::vector<std::string> folders;
    for (std::string folder : elf.rpath) {
        for (const std::string_view word : {"${ORIGIN}", "$ORIGIN"}) {
            if (const std::size_t at = folder.find(word); at != std::string::npos) {
                folder.replace(at, word.size(), origin);
            }
        }
        folders.push_back(std::move(folder));
    }
    return folders;
}

class LibrarySearch {
public:
    LibrarySearch(const LibraryTree& tree, std::vector<MissingLibrary>& into)
        : tree_(tree), into_(into) {}

    /// The files below a destination, or itself.
    void look(const std::string& path, int depth) {
        constexpr int kDeepest = 32;
        const auto found = tree_.open_path(path);
        struct stat status {};
        if (!found || ::fstat(found->get(), &status) != 0 || ++looked_ > kMostFilesLooked) {
            return;
        }
        if (S_ISREG(status.st_mode)) {
            constexpr mode_t kExecutable = S_IXUSR | S_IXGRP | S_IXOTH;
            if ((status.st_mode & kExecutable) != 0) {
                look_at_program(path, LibraryTree::open_found(found->get()));
            }
            return;
        }
        const auto names = S_ISDIR(status.st_mode) && depth < kDeepest
                               ? names_in(found->get(), path)
                               : Result<std::vector<std::string>>();
        if (!names) {
            return;
        }
        for (const std::string& name : *names) {
            struct stat own {};
            // Links below a destination are not followed: what they name is of the base.
            if (::fstatat(found->get(), name.c_str(), &own, AT_SYMLINK_NOFOLLOW) == 0 &&
                !S_ISLNK(own.st_mode)) {
                look((fs::path(path) / name).native(), depth + 1);
            }
        }
    }

private:
    void look_at_program(const std::string& path, const UniqueFd& fd) {
        const auto program = fd.valid() ? read_program(fd.get()) : std::nullopt;
        if (!program || into_.size() >= kMostMissing) {
            return;
        }
        const auto own = search_folders(*program, path);
        std::set<std::string> known;
        std::deque<Asked> open;
        ask(*program, own, {}, open);
        while (!open.empty() && known.size() < kMostLibraries) {
            const Asked asked = open.front();
            open.pop_front();
            if (!known.insert(asked.library).second || is_from_host(asked.library)) {
                continue;
            }
            const auto found = tree_.find(asked.library, asked.folders);
            if (!found) {
                into_.push_back({path, asked.library, asked.by, package_of(asked.library)});
                continue;
            }
            follow(*found,
                   asked.library,
                   program->is_runpath ? std::vector<std::string>() : own,
                   open);
        }
    }

    struct Asked {
        std::string library;
        std::string by;
        std::vector<std::string> folders;
    };

    static void ask(const ElfFile& elf,
                    const std::vector<std::string>& folders,
                    const std::string& by,
                    std::deque<Asked>& open) {
        for (const std::string& library : elf.needed) {
            open.push_back({library, by, folders});
        }
    }

    /// What a library that was found asks for; a program's RPATH serves its libraries too.
    void follow(const std::string& path,
                const std::string& name,
                const std::vector<std::string>& inherited,
                std::deque<Asked>& open) const {
        const UniqueFd fd = tree_.open_file(path);
        const auto library = fd.valid() ? read_elf(fd.get()) : std::nullopt;
        if (!library) {
            return;
        }
        auto folders = search_folders(*library, path);
        folders.insert(folders.end(), inherited.begin(), inherited.end());
        ask(*library, folders, name, open);
    }

    const LibraryTree& tree_;
    std::vector<MissingLibrary>& into_;
    std::size_t looked_ = 0;
};

} // namespace

std::vector<MissingLibrary> find_missing_libraries(const fs::path& root,
                                                   const std::vector<std::string>& targets,
                                                   const std::vector<std::string>& library_path) {
    std::vector<MissingLibrary> missing;
    const LibraryTree tree(root, library_path);
    if (!tree.is_open()) {
        return missing;
    }
    LibrarySearch search(tree, missing);
    for (const std::string& target : targets) {
        search.look(target, 0);
    }
    return missing;
}

std::vector<std::string> library_path_of(std::string_view environment) {
    std::vector<std::string> folders;
    for (const std::string_view line : text::split_terminated(environment, '\n')) {
        const std::size_t at = line.find("LD_LIBRARY_PATH=");
        if (at == std::string_view::npos) {
            continue;
        }
        std::string value;
        for (const char c : line.substr(line.find('=', at) + 1)) {
            value += c == '"' || c == '\'' ? ':' : c;
        }
        for (const std::string_view folder : text::split_terminated(value, ':')) {
            if (folder.starts_with('/')) {
                folders.emplace_back(folder.substr(0, folder.find_first_of(" \t$;}")));
            }
        }
    }
    return folders;
}

std::string warning_of(const MissingLibrary& missing) {
    const std::string package = missing.package.empty() ? "install what has it, or copy it too"
                                                        : "add " + missing.package +
                                                              " to `packages: {system: […]}` "
                                                              "(or install it in %post)";
    return "warning: " + printable(missing.program) + " cannot start: the image has no " +
           printable(missing.library) +
           (missing.by.empty() ? "" : ", which " + printable(missing.by) + " requires") + "; " +
           package + ", unless the host's is mounted at run time";
}

} // namespace cybele::builder
