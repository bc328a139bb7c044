// SPDX-License-Identifier: Apache-2.0
#include "images/inspection/usage.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>

#include <nlohmann/json.hpp>

namespace cybele::images {
namespace {

/// Which package each path belongs to, by the managers' lists of files.
class Owners {
public:
    explicit Owners(const FilePointer& root) : root_(root) {}

    Result<void> read() {
        CYBELE_CHECK(read_dpkg());
        for (const char* place : {"/lib/apk/db/installed", "/usr/lib/apk/db/installed"}) {
            CYBELE_TRY(const auto text, read_file_at(root_, place));
            if (text) {
                read_apk(*text);
            }
        }
        return {};
    }

    /// Lists that are found on the way: RECORD of a *.dist-info, NAME.json of conda-meta.
    void read_found(const std::string& path, const FileNode& node) {
        const std::size_t slash = path.rfind('/');
        const std::string_view folder = std::string_view(path).substr(0, slash);
        const std::string_view file = std::string_view(path).substr(slash + 1);
        const bool is_pip = file == "RECORD" && folder.ends_with(".dist-info");
        const bool is_conda = folder.ends_with("/conda-meta") && file.ends_with(".json");
        if (!is_pip && !is_conda) {
            return;
        }
        const auto text = read_node(node);
        if (text && is_pip) {
            read_pip(folder, *text);
        } else if (text) {
            read_conda(folder, *text);
        }
    }

    [[nodiscard]] PackageUsage* owner(const std::string& path) {
        const auto found = paths_.find(path);
        return found == paths_.end() ? nullptr : &packages_[found->second];
    }
    [[nodiscard]] std::vector<PackageUsage> take() {
        return std::move(packages_);
    }

private:
    std::size_t add(std::string_view manager, std::string_view name) {
        packages_.push_back({std::string(manager), std::string(name), 0, 0});
        return packages_.size() - 1;
    }

    /// Where the file is: Debian lists /lib/x, which is /usr/lib/x where /lib is a link.
    std::string place_of(std::string_view path) {
        const std::size_t slash = path.find('/', 1);
        const std::string top(path.substr(0, slash));
        auto found = tops_.find(top);
        if (found == tops_.end()) {
            const auto node = root_->child(top.size() > 1 ? top.substr(1) : "");
            std::string place = top;
            if (node && *node && (*node)->status().is_link()) {
                const std::string& target = (*node)->status().target;
                place = target.starts_with('/') ? target : "/" + target;
            }
            found = tops_.emplace(top, place).first;
        }
        return slash == std::string_view::npos ? found->second
                                               : found->second + std::string(path.substr(slash));
    }

    void own(std::string_view path, std::size_t package) {
        paths_.emplace(place_of(path), package);
    }

    Result<void> read_dpkg() {
        CYBELE_TRY(const auto folder, find_file(root_, "/var/lib/dpkg/info"));
        if (!folder || !folder->status().is_directory()) {
            return {};
        }
        CYBELE_TRY(const auto files, folder->children());
        for (const auto& file : files) {
            std::string_view name = file->name();
            if (!name.ends_with(".list") || !file->status().is_regular()) {
                continue;
            }
            name.remove_suffix(5);
            CYBELE_TRY(const std::string text, read_node(*file));
            const std::size_t package = add("dpkg", name.substr(0, name.find(':')));
            each_line(text, [&](std::string_view line) {
                if (line.starts_with('/')) {
                    own(line, package);
                }
            });
        }
        return {};
    }

    template <class Visit>
    static void each_line(std::string_view text, Visit visit) {
        while (!text.empty()) {
            const std::size_t end = std::min(text.find('\n'), text.size());
            visit(text.substr(0, end));
            text.remove_prefix(std::min(end + 1, text.size()));
        }
    }

    void read_apk(std::string_view text) {
        std::optional<std::size_t> package;
        std::string folder;
        each_line(text, [&](std::string_view line) {
            if (line.starts_with("P:")) {
                package = add("apk", line.substr(2));
            } else if (line.starts_with("F:")) {
                folder = "/" + std::string(line.substr(2));
            } else if (line.starts_with("R:") && package) {
                own(folder + "/" + std::string(line.substr(2)), *package);
            }
        });
    }

    void read_pip(std::string_view folder, std::string_view text) {
        const std::size_t slash = folder.rfind('/');
        const std::string_view info = folder.substr(slash + 1);
        const std::size_t package = add("pip", info.substr(0, info.find('-')));
        each_line(text, [&](std::string_view line) {
            const bool is_quoted = line.starts_with('"');
            const std::string_view name =
                is_quoted ? line.substr(1, line.find('"', 1) - 1) : line.substr(0, line.find(','));
            if (!name.empty() && !name.starts_with('/')) {
                later_.emplace_back(joined(folder.substr(0, slash), name), package);
            }
        });
    }

    /// "/a/b" and "../c" → "/a/c".
    static std::string joined(std::string_view folder, std::string_view name) {
        std::string path(folder);
        while (name.starts_with("../")) {
            path.resize(std::min(path.rfind('/'), path.size()));
            name.remove_prefix(3);
        }
        return path + "/" + std::string(name);
    }

    void read_conda(std::string_view folder, const std::string& text) {
        const auto record = nlohmann::json::parse(text, nullptr, false);
        if (!record.is_object() || !record.contains("files") || !record["files"].is_array()) {
            return;
        }
        const std::size_t package = add("conda", record.value("name", std::string{"?"}));
        const std::string prefix(folder.substr(0, folder.rfind('/')));
        for (const auto& file : record["files"]) {
            if (file.is_string()) {
                later_.emplace_back(prefix + "/" + file.get<std::string>(), package);
            }
        }
    }

public:
    /// A package of conda that pip wrote is conda's: the first owner stays.
    void settle() {
        for (auto& [path, package] : later_) {
            paths_.emplace(std::move(path), package);
        }
        later_.clear();
    }

private:
    const FilePointer& root_;
    std::vector<PackageUsage> packages_;
    std::unordered_map<std::string, std::size_t> paths_;
    std::vector<std::pair<std::string, std::size_t>> later_;
    std::map<std::string, std::string> tops_;
};

FolderUsage& folder_in(FolderUsage& parent, std::string_view name) {
    if (parent.folders.empty() || parent.folders.back().name != name) {
        parent.folders.push_back({std::string(name), 0, 0, {}});
    }
    return parent.folders.back();
}

/// Files come in the order of walk_files(), so that a folder's files follow each other.
void count_in(FolderUsage& root, std::string_view path, std::uint64_t bytes) {
    FolderUsage* folder = &root;
    path.remove_prefix(1);
    for (;;) {
        folder->bytes += bytes;
        ++folder->files;
        const std::size_t slash = path.find('/');
        if (slash == std::string_view::npos) {
            return;
        }
        folder = &folder_in(*folder, path.substr(0, slash));
        path.remove_prefix(slash + 1);
    }
}

void largest_first(FolderUsage& folder) {
    std::ranges::stable_sort(folder.folders, std::greater<>{}, &FolderUsage::bytes);
    for (auto& each : folder.folders) {
        largest_first(each);
    }
}

} // namespace

Result<ImageUsage> measure_usage(const FilePointer& root) {
    Owners owners(root);
    CYBELE_CHECK(owners.read());
    struct CountedFile {
        std::string path;
        std::uint64_t bytes;
    };
    ImageUsage usage;
    std::vector<CountedFile> files;
    std::set<std::uint64_t> seen;
    CYBELE_CHECK(
        walk_files(root, [&](const std::string& path, const FilePointer& node) -> Result<bool> {
            const FileStatus& status = node->status();
            if (status.is_regular() && (status.links < 2 || seen.insert(status.inode).second)) {
                owners.read_found(path, *node);
                files.push_back({path, status.size});
                count_in(usage.root, path, status.size);
            }
            return true;
        }));
    owners.settle();
    for (const auto& [path, bytes] : files) {
        PackageUsage* owner = owners.owner(path);
        PackageUsage& counted = owner == nullptr ? usage.others : *owner;
        counted.bytes += bytes;
        ++counted.files;
    }
    usage.packages = owners.take();
    std::ranges::stable_sort(usage.packages, std::greater<>{}, &PackageUsage::bytes);
    largest_first(usage.root);
    return usage;
}

} // namespace cybele::images
