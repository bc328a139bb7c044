// SPDX-License-Identifier: Apache-2.0
#include "runtime/containers/bind_option.hpp"
#include "runtime/containers/device_interface.hpp"
#include "runtime/containers/environment_option.hpp"
#include "runtime/containers/extended_file.hpp"
#include "runtime/containers/gpu.hpp"
#include "runtime/containers/image_binds.hpp"
#include "runtime/containers/limits.hpp"
#include "runtime/containers/site_settings.hpp"
#include "runtime/namespaces/seccomp_profile.hpp"
#include "support/file.hpp"
#include "tests/fuzz/checks.hpp"
#include "tests/fuzz/scratch.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <linux/bpf_common.h>
#include <linux/filter.h>

using namespace cybele;
using namespace cybele::fuzz;
using namespace cybele::runtime;

namespace {

/// A folder of this process, in which a file may lie.
const std::filesystem::path& fuzz_folder() {
    return scratch_folder("host-fuzz");
}

/// apptainer.conf: what is read can be applied, twice alike.
void try_settings(std::string_view text) {
    const SiteSettings settings = read_site_settings(text);
    must(settings == read_site_settings(text));
    for (const auto& [word, values] : settings) {
        must(!word.empty() && !values.empty() && !values.front().empty());
    }
    Request request;
    request.image.file = "/nonexistent";
    request.isolation.containall = true;
    std::vector<std::string> warnings;
    if (const auto applied = apply_site_settings(settings, request, warnings); !applied) {
        check_refusal(applied.error());
    }
}

/// A file of the Container Device Interface: each path that it gives is absolute.
void try_devices(std::string_view text) {
    const auto file = fuzz_folder() / "device.yaml";
    must(write_file(file, text).has_value());
    for (const char* device : {"vendor.com/net=one", "vendor.com/net=all", "x", "/="}) {
        Request request;
        std::vector<std::string> warnings;
        const auto added = add_devices({device}, {fuzz_folder().native()}, request, warnings);
        if (!added) {
            check_refusal(added.error());
            continue;
        }
        for (const DeviceBind& bind : request.devices.binds) {
            must(bind.source.is_absolute() && bind.target.is_absolute());
        }
    }
}

/// A file of --apply-cgroups: what is read names files of a cgroup, and no other ones.
void try_limits(std::string_view text) {
    const auto limits = parse_limits(text, "fuzz");
    if (!limits) {
        check_refusal(limits.error());
        return;
    }
    const auto settings = limit_settings(*limits);
    if (!settings) {
        check_refusal(settings.error());
        return;
    }
    for (const LimitSetting& one : *settings) {
        must(one.file.find('/') == std::string::npos && !one.file.starts_with("cgroup.") &&
             one.file.find('.') != std::string::npos);
    }
}

/// A file that is bound in part, or laid over an image: an image, or refused.
void try_image(std::string_view bytes) {
    const auto file = fuzz_folder() / "image";
    must(write_file(file, bytes).has_value());
    const UniqueFd fd(open(file.c_str(), O_RDONLY | O_CLOEXEC));
    (void)is_extended(fd.get(), 0);
    (void)is_extended(fd.get(), bytes.size());
    for (const std::uint32_t id : {0U, 1U, 4U}) {
        namespaces::Mount mount;
        mount.source = file;
        mount.target = std::filesystem::path("/mnt");
        mount.image_source = std::string(1, '/');
        mount.image_id = id;
        mount.is_read_only = true;
        if (const auto opened = ImageBinds::open({mount, mount}); !opened) {
            check_refusal(opened.error());
        }
    }
}

/// nvliblist.conf and what `ldconfig -p` prints: libraries are found among those of the host only.
void try_gpu_list(std::string_view text) {
    const GpuList list = read_gpu_list(text);
    for (const auto* words : {&list.libraries, &list.programs, &list.files}) {
        for (const std::string& word : *words) {
            must(!word.empty() && word.find('\n') == std::string::npos);
        }
    }
    for (const std::string& file : list.files) {
        must(file.front() == '/');
    }
    const auto all = read_loader_cache(text, "x86-64");
    (void)driver_libraries(list, all);
}

/// A profile of --security seccomp: a program that the kernel can check, or refused.
void try_seccomp(std::string_view text) {
    const auto program = namespaces::compile_seccomp_profile(text, "fuzz");
    if (!program) {
        check_refusal(program.error());
        return;
    }
    must(!program->empty() && program->size() <= BPF_MAXINSNS);
    for (std::size_t i = 0; i < program->size(); ++i) { // no jump leads behind the end
        const sock_filter& one = (*program)[i];
        const bool is_jump = BPF_CLASS(one.code) == BPF_JMP;
        const std::size_t longest = BPF_OP(one.code) == BPF_JA ? one.k : std::max(one.jt, one.jf);
        must(!is_jump || i + 1 + longest < program->size());
    }
}

/// --env-file, with and without a host's variables, --env, --bind and --mount.
void try_words(std::string_view text) {
    const auto file = fuzz_folder() / "variables";
    must(write_file(file, text).has_value());
    const Environment host(EnvironmentMap{{"HOME", "/root"}, {"A", "$A"}});
    for (const Environment* one : {static_cast<const Environment*>(nullptr), &host}) {
        if (const auto read = read_environment_file(file, one); !read) {
            check_refusal(read.error());
        }
    }
    if (const auto read = read_environment_option(text); !read) {
        check_refusal(read.error());
    }
    if (const auto binds = read_binds(text, "/here"); binds) {
        for (const BindOption& bind : *binds) {
            must(bind.source.is_absolute() && bind.target.is_absolute());
        }
    }
    if (const auto mount = read_mount(text, "/here"); mount) {
        must(mount->source.is_absolute() && mount->target.is_absolute());
    }
}

} // namespace

/// Files of a host and of others that a start reads. The first byte chooses the kind.
// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
    switch (data[0] % 8) {
    case 0:
        try_settings(rest);
        break;
    case 1:
        try_devices(rest);
        break;
    case 2:
        try_limits(rest);
        break;
    case 3:
        try_image(rest);
        break;
    case 4:
        try_gpu_list(rest);
        break;
    case 5:
        try_seccomp(rest);
        break;
    default:
        try_words(rest);
        break;
    }
    return 0;
}
