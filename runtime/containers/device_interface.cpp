// SPDX-License-Identifier: Apache-2.0
#include "runtime/containers/device_interface.hpp"

#include "runtime/containers/isolation.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"
#include "support/yaml.hpp"

#include <algorithm>
#include <set>

namespace cybele::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostDeviceText = std::size_t{4} << 20U;
constexpr const char* kDeviceFolders[] = {"/etc/cdi", "/var/run/cdi"};

std::string device_text(const yaml::Node& node, std::string_view key) {
    const yaml::Node* const found = node.find(key);
    return found != nullptr && found->kind == yaml::Node::Kind::kScalar ? found->scalar : "";
}

const std::vector<yaml::Node>& device_items(const yaml::Node& node, std::string_view key) {
    static const std::vector<yaml::Node> none;
    const yaml::Node* const found = node.find(key);
    return found == nullptr ? none : found->items;
}

/// One file.
struct DeviceFile {
    fs::path path;
    yaml::Node root;
};

Result<std::vector<DeviceFile>> read_device_files(const std::vector<fs::path>& folders) {
    std::vector<DeviceFile> files;
    for (const fs::path& folder : folders) {
        std::vector<fs::path> names;
        std::error_code failed;
        for (fs::directory_iterator at(folder, failed), end; !failed && at != end;
             at.increment(failed)) {
            const std::string extension = at->path().extension().native();
            if (extension == ".json" || extension == ".yaml") {
                names.push_back(at->path());
            }
        }
        std::sort(names.begin(), names.end());
        for (const fs::path& name : names) {
            CYBELE_TRY(std::string text,
                       read_file(name, kMostDeviceText).map_error(during("reading a device file")));
            CYBELE_TRY(yaml::Document document, yaml::parse(std::move(text), name.native()));
            files.push_back({name, std::move(document.root)});
        }
    }
    return files;
}

class DeviceEdits {
public:
    DeviceEdits(Request& request, std::vector<std::string>& warnings)
        : request_(request), warnings_(warnings) {}

    void add(const DeviceFile& file, const yaml::Node& edits) {
        for (const yaml::Node& one : device_items(edits, "env")) {
            const std::size_t equals = one.scalar.find('=');
            if (equals != std::string::npos) {
                request_.devices.environment[one.scalar.substr(0, equals)] =
                    one.scalar.substr(equals + 1);
            }
        }
        for (const yaml::Node& one : device_items(edits, "deviceNodes")) {
            const std::string path = device_text(one, "path");
            const std::string host = device_text(one, "hostPath");
            request_.devices.binds.push_back({host.empty() ? path : host, path, false, true});
        }
        for (const yaml::Node& one : device_items(edits, "mounts")) {
            DeviceBind bind{
                device_text(one, "hostPath"), device_text(one, "containerPath"), false, false};
            for (const yaml::Node& option : device_items(one, "options")) {
                bind.is_read_only = bind.is_read_only || option.scalar == "ro";
            }
            request_.devices.binds.push_back(std::move(bind));
        }
        if (!device_items(edits, "hooks").empty() && with_hooks_.insert(file.path).second) {
            warnings_.push_back("the hooks of " + printable(file.path.native()) + " are not run");
        }
    }

private:
    Request& request_;
    std::vector<std::string>& warnings_;
    std::set<fs::path> with_hooks_;
};

tl::unexpected<Error> unknown_device(const std::string& name,
                                     const std::vector<fs::path>& folders) {
    std::string shown;
    for (const fs::path& folder : folders) {
        shown += (shown.empty() ? "" : ", ") + printable(folder.native());
    }
    return fail(ErrorCode::kInput,
                problem("device-unknown", "the device '" + printable(name) + "' is not known"),
                "no device file in " + shown + " has it",
                "name the folder of the device files by --cdi-dirs");
}

/// Of one device: its own edits, and once those of its file.
Result<void> add_one_device(const std::string& wanted,
                            const std::vector<DeviceFile>& files,
                            const std::vector<fs::path>& folders,
                            std::set<const DeviceFile*>& used,
                            DeviceEdits& edits) {
    const std::size_t equals = wanted.find('=');
    const std::string kind = wanted.substr(0, equals);
    if (equals == std::string::npos || kind.find('/') == std::string::npos ||
        equals + 1 == wanted.size()) {
        return fail(
            ErrorCode::kUsage,
            problem("device-malformed", "'" + printable(wanted) + "' is not the name of a device"),
            "it has a vendor, a class and a name",
            "write --device vendor.com/class=name");
    }
    const std::string name = wanted.substr(equals + 1);
    bool is_found = false;
    for (auto file = files.rbegin(); file != files.rend(); ++file) { // the last folder counts
        if (device_text(file->root, "kind") != kind) {
            continue;
        }
        for (const yaml::Node& device : device_items(file->root, "devices")) {
            if (name != "all" && device_text(device, "name") != name) {
                continue;
            }
            const yaml::Node* const own = device.find("containerEdits");
            const yaml::Node* const common = file->root.find("containerEdits");
            if (common != nullptr && used.insert(&*file).second) {
                edits.add(*file, *common);
            }
            if (own != nullptr) {
                edits.add(*file, *own);
            }
            is_found = true;
            if (name != "all") {
                return {};
            }
        }
    }
    return is_found ? Result<void>() : unknown_device(wanted, folders);
}

} // namespace

Result<void> add_devices(const std::vector<std::string>& devices,
                         const std::vector<std::string>& folders,
                         Request& request,
                         std::vector<std::string>& warnings) {
    if (devices.empty()) {
        return {};
    }
    const std::vector<std::string> words = list_words(folders); // of a variable: with commas
    std::vector<fs::path> places(words.begin(), words.end());
    if (places.empty()) {
        places.assign(std::begin(kDeviceFolders), std::end(kDeviceFolders));
    }
    CYBELE_TRY(const std::vector<DeviceFile> files, read_device_files(places));
    std::set<const DeviceFile*> used;
    DeviceEdits edits(request, warnings);
    for (const std::string& device : list_words(devices)) {
        CYBELE_CHECK(add_one_device(device, files, places, used, edits));
    }
    for (const DeviceBind& bind : request.devices.binds) {
        // A node that the host's /dev has not can only be shown in a /dev of its own.
        std::error_code ignored;
        request.site.has_small_devices =
            request.site.has_small_devices || (bind.is_node && !fs::exists(bind.target, ignored));
        if (!bind.source.is_absolute() || !bind.target.is_absolute()) {
            return fail(
                ErrorCode::kInput,
                problem("device-path-malformed",
                        "a device file names the path '" + printable(bind.target.string()) + "'"),
                "paths of hosts and containers are absolute",
                "correct the file");
        }
    }
    return {};
}

} // namespace cybele::runtime
