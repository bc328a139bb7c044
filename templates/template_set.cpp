// SPDX-License-Identifier: Apache-2.0
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/file.hpp"
#include "templates/renderer.hpp"

#include <system_error>

namespace cybele::embedded {
std::span<const EmbeddedFile> templates();
} // namespace cybele::embedded

namespace cybele::templates {
namespace {

constexpr std::string_view kSuffix = ".mustache";

} // namespace

TemplateSet::TemplateSet() {
    add(embedded::templates());
}

void TemplateSet::add(std::span<const EmbeddedFile> files) {
    for (const auto& file : files) {
        if (file.name.ends_with(kSuffix)) {
            put(std::string(file.name.substr(0, file.name.size() - kSuffix.size())),
                file.bytes,
                file.digest);
        }
    }
}

Result<void> TemplateSet::override_with(const std::filesystem::path& directory) {
    std::error_code error;
    std::filesystem::recursive_directory_iterator entries(directory, error);
    if (error) {
        return fail(ErrorCode::kInput,
                    problem("template-folder-unreadable",
                            "cannot read the template directory '" + directory.native() + "'"),
                    error.message(),
                    "name a directory with NAME.mustache files");
    }
    for (auto entry = begin(entries); entry != end(entries); entry.increment(error)) {
        const auto& path = entry->path();
        if (path.extension() != kSuffix) {
            continue;
        }
        const std::string name =
            path.lexically_relative(directory).replace_extension().generic_string();
        const auto known = texts_.find(name);
        if (known == texts_.end()) {
            return fail(ErrorCode::kInput,
                        problem("template-name-unknown", "no template is called '" + name + "'"),
                        "'" + path.native() + "' would never be used",
                        "rename it after the template that it replaces");
        }
        CYBELE_TRY(known->second.bytes, read_file(path, std::size_t{1} << 20U));
        known->second.digest.clear();
    }
    if (error) {
        return fail(system_error("cannot read '" + directory.native() + "'", error.value()));
    }
    return {};
}

const std::string* TemplateSet::find(const std::string& name) const {
    const auto found = texts_.find(name);
    return found == texts_.end() ? nullptr : &found->second.bytes;
}

std::string TemplateSet::version() const {
    std::string all;
    for (const auto& [name, text] : texts_) {
        all.append(name).append("\n");
        all.append(text.digest.empty() ? hex(sha256(text.bytes)) : text.digest).append("\n");
    }
    const Digest bytes = sha256(all);
    return std::string(kSchema) + "-" + hex(std::span(bytes).first(6));
}

} // namespace cybele::templates
