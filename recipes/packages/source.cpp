// SPDX-License-Identifier: Apache-2.0
#include "recipes/packages/packages.hpp"
#include "recipes/stage/compilers.hpp"

namespace cybele::recipes {
namespace {

std::string prefix_of(const SourcePackage& source) {
    return "/opt/" + source.name;
}

/// Downloads, compares, unpacks and enters the one folder of an archive.
std::string archive_lines(const SourcePackage& source) {
    const bool is_zip = source.url.ends_with(".zip");
    std::string lines = "curl -fsSL --retry 3 -o archive " + definition_quote(source.url) +
                        "\necho '" + source.sha256 + "  archive' | sha256sum -c -\nmkdir tree\n";
    lines += is_zip ? "unzip -q archive -d tree\n" : "tar -xf archive -C tree\n";
    return lines + "cd tree\nset -- ./*\n"
                   "if [ \"$#\" -eq 1 ] && [ -d \"$1\" ]; then\n    cd \"$1\"\nfi\n";
}

/// A commit: fetched alone where the server gives it so, else out of the whole history.
std::string git_lines(const SourcePackage& source) {
    const std::string url = definition_quote(source.git);
    return "git init -q tree\ncd tree\ngit remote add origin " + url +
           "\nif ! git fetch -q --depth 1 origin " + source.commit +
           "; then\n    git fetch -q --tags origin '+refs/heads/*:refs/remotes/origin/*'\nfi\n"
           "git checkout -q --detach " +
           source.commit + "\n" + "[ \"$(git rev-parse HEAD)\" = " + source.commit +
           " ]\nrm -rf .git\n";
}

std::string options_of(const SourcePackage& source) {
    std::string text;
    for (const auto& option : source.options) {
        text += " " + definition_quote(option);
    }
    return text;
}

std::string build_lines(const SourcePackage& source) {
    const std::string prefix = prefix_of(source);
    const std::string options = options_of(source);
    constexpr std::string_view kMake = "make -j\"$(nproc)\"";
    if (source.build == "autotools") {
        return "./configure --prefix=" + prefix + options + "\n" + std::string(kMake) +
               "\nmake install\n";
    }
    if (source.build == "cmake") {
        return "cmake -S . -B cybelectl-build -DCMAKE_BUILD_TYPE=Release"
               " -DCMAKE_INSTALL_PREFIX=" +
               prefix + " -DCMAKE_INSTALL_LIBDIR=lib" + options +
               "\ncmake --build cybelectl-build -j\"$(nproc)\"\ncmake --install cybelectl-build\n";
    }
    if (source.build == "make") {
        return std::string(kMake) + " PREFIX=" + prefix + options +
               "\nmake install PREFIX=" + prefix + options + "\n";
    }
    return "export PREFIX=" + prefix + "\nmkdir -p \"$PREFIX\"\n" +
           script_lines(source.script, "sh", "");
}

} // namespace

std::string source_script(const StageContext& context, const SourcePackage& source) {
    Environment earlier;
    for (const auto& other : context.fields->packages.source) {
        if (&other == &source) {
            break;
        }
        using How = EnvironmentValue::How;
        const std::string prefix = prefix_of(other);
        earlier.emplace_back("PATH", EnvironmentValue{How::kPrepend, prefix + "/bin"});
        earlier.emplace_back("LD_LIBRARY_PATH", EnvironmentValue{How::kPrepend, prefix + "/lib"});
        earlier.emplace_back("PKG_CONFIG_PATH",
                             EnvironmentValue{How::kPrepend, prefix + "/lib/pkgconfig"});
        earlier.emplace_back("CMAKE_PREFIX_PATH", EnvironmentValue{How::kPrepend, prefix});
    }
    return "export LC_ALL=C.UTF-8\n" + argument_lines(context.recipe->args) +
           export_lines(earlier) + compiler_lines(context) +
           "cybelectl_work=$(mktemp -d)\ncd \"$cybelectl_work\"\n" +
           (source.git.empty() ? archive_lines(source) : git_lines(source)) + build_lines(source) +
           "cd /\nrm -rf \"$cybelectl_work\"\n";
}

bool has_source(const StageFields& fields, std::string_view name) {
    for (const auto& source : fields.packages.source) {
        if (source.name == name) {
            return true;
        }
    }
    return false;
}

} // namespace cybele::recipes
