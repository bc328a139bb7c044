// SPDX-License-Identifier: Apache-2.0
#include "recipes/forms/requirements.hpp"
#include "recipes/packages/packages.hpp"

#include <algorithm>

namespace cybele::recipes {

bool has_hash(std::string_view line) {
    return line.find("--hash=sha256:") != std::string_view::npos;
}

bool lists_mpi4py(const Packages& packages) {
    return std::ranges::any_of(
        packages.pip, [](const std::string& line) { return requirement_name(line) == "mpi4py"; });
}

std::vector<std::string> requirement_lines(const StageContext& context) {
    if (context.lock == nullptr || !context.lock->packages.contains("pip")) {
        return context.fields->packages.pip;
    }
    std::vector<std::string> lines;
    for (const auto& package : context.lock->packages.at("pip")) {
        const std::string hash = " --hash=" + package.digest;
        const std::string start = package.name + "==" + package.version;
        const auto same = std::ranges::find_if(
            lines, [&](const std::string& line) { return line.starts_with(start + " "); });
        if (same != lines.end()) {
            *same += hash;
        } else {
            lines.push_back(start + hash);
        }
    }
    return lines;
}

std::string pip_script(const StageContext& context) {
    const auto lines = requirement_lines(context);
    std::string text;
    for (const auto& line : lines) {
        text += line + "\n";
    }
    const bool is_hashed =
        std::ranges::all_of(lines, [](const std::string& line) { return has_hash(line); });
    // packages of both kinds see each other only under the same Python
    const bool has_conda = !context.fields->packages.conda_packages.empty();
    return "export LC_ALL=C.UTF-8 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1\n" +
           std::string(has_conda ? "/opt/conda/bin/python3" : "python3") +
           " -m venv --system-site-packages /opt/venv\n"
           "cybelectl_list=$(mktemp)\n" +
           write_variable_file_lines("cybelectl_list", text) +
           "/opt/venv/bin/python3 -m pip install --no-cache-dir " +
           (is_hashed ? "--require-hashes " : "") +
           "-r \"$cybelectl_list\"\nrm -f \"$cybelectl_list\"\n";
}

CondaSpec conda_spec(std::string_view line) {
    constexpr std::string_view kSum = " sha256:";
    const auto at = line.find(kSum);
    if (at == std::string_view::npos) {
        return {std::string(line), {}, {}};
    }
    CondaSpec spec{std::string(line.substr(0, at)), std::string(line.substr(at + kSum.size())), {}};
    spec.archive = spec.spec;
    std::replace(spec.archive.begin(), spec.archive.end(), '=', '-');
    return spec;
}

namespace {

/// What was installed is compared with the sums: conda keeps each archive's in its records.
std::string conda_sums(const std::vector<std::string>& lines) {
    std::string sums;
    for (const auto& line : lines) {
        const CondaSpec spec = conda_spec(line);
        sums += spec.sha256.empty() ? "" : spec.archive + " " + spec.sha256 + "\n";
    }
    if (sums.empty()) {
        return {};
    }
    return "cybelectl_list=$(mktemp)\n" + write_variable_file_lines("cybelectl_list", sums) +
           "while read -r cybelectl_name cybelectl_sum; do\n"
           "    if ! grep -q \"\\\"sha256\\\": *\\\"$cybelectl_sum\\\"\" "
           "\"/opt/conda/conda-meta/$cybelectl_name.json\"; then\n"
           "        echo \"$cybelectl_name: its SHA-256 is not the Recipe's\" >&2\n"
           "        exit 1\n    fi\ndone <\"$cybelectl_list\"\nrm -f \"$cybelectl_list\"\n";
}

} // namespace

std::string conda_script(const StageContext& context) {
    const Packages& packages = context.fields->packages;
    const std::string program =
        has_source(*context.fields, "micromamba") ? "/opt/micromamba/bin/micromamba" : "micromamba";
    std::string lines = "export MAMBA_ROOT_PREFIX=/opt/mamba-root\n" + program +
                        " create -y -q -p /opt/conda --override-channels";
    for (const auto& channel : packages.conda_channels) {
        lines += " \\\n    -c " + definition_quote(channel);
    }
    std::vector<std::string> specs = packages.conda_packages;
    std::sort(specs.begin(), specs.end());
    for (const auto& line : specs) {
        lines += " \\\n    " + definition_quote(conda_spec(line).spec);
    }
    return lines + "\n" + conda_sums(specs) + program +
           " clean -a -f -y\nrm -rf \"$MAMBA_ROOT_PREFIX\"\n";
}

std::string spack_script(const StageContext& context) {
    std::string lines = "export SPACK_DISABLE_LOCAL_CONFIG=1 PATH=\"/opt/spack/bin:$PATH\"\n"
                        "spack env create -d /opt/spack-env\n"
                        "spack -e /opt/spack-env add";
    std::vector<std::string> specs = context.fields->packages.spack;
    std::sort(specs.begin(), specs.end());
    for (const auto& spec : specs) {
        lines += " \\\n    " + definition_quote(spec);
    }
    return lines + "\nspack -e /opt/spack-env concretize -f\n"
                   "spack -e /opt/spack-env install --fail-fast\n"
                   "spack gc -y\nspack clean -a\n";
}

Environment package_environment(const StageContext& context) {
    using How = EnvironmentValue::How;
    const Packages& packages = context.fields->packages;
    Environment list;
    const auto prepend = [&](const char* name, const std::string& path) {
        list.emplace_back(name, EnvironmentValue{How::kPrepend, path});
    };
    if (context.base.gpu != nullptr && !context.base.gpu->path.empty()) {
        prepend("PATH", std::string(context.base.gpu->path));
    }
    for (const auto& source : packages.source) {
        if (source.name == "spack" || source.name == "micromamba") {
            continue; // installers, not programs of the image
        }
        prepend("PATH", "/opt/" + source.name + "/bin");
        prepend("LD_LIBRARY_PATH", "/opt/" + source.name + "/lib");
    }
    if (!packages.spack.empty()) {
        prepend("PATH", "/opt/spack-env/.spack-env/view/bin");
    }
    if (!packages.conda_packages.empty()) {
        prepend("PATH", "/opt/conda/bin");
    }
    if (!packages.pip.empty()) {
        prepend("PATH", "/opt/venv/bin");
    }
    return list;
}

Environment environment_of(const StageContext& context) {
    Environment list = package_environment(context);
    const auto& own = context.fields->environment;
    list.insert(list.end(), own.begin(), own.end());
    return list;
}

} // namespace cybele::recipes
