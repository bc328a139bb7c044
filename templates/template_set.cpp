// SPDX-License-Identifier: Apache-2.0
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "templates/renderer.hpp"

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

bool TemplateSet::replace(const std::string& name, std::string text, std::string file) {
    const auto known = texts_.find(name);
    if (known == texts_.end()) {
        return false;
    }
    known->second = {std::move(text), {}, std::move(file)};
    return true;
}

const std::string* TemplateSet::find(const std::string& name) const {
    const auto found = texts_.find(name);
    return found == texts_.end() ? nullptr : &found->second.bytes;
}

std::string TemplateSet::file_of(const std::string& name) const {
    const auto found = texts_.find(name);
    return found == texts_.end() || found->second.file.empty() ? name + std::string(kSuffix)
                                                               : found->second.file;
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
