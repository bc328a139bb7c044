// SPDX-License-Identifier: Apache-2.0
#include "images/inspection/diff.hpp"

#include "images/inspection/packages.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

namespace cybele::images {
namespace {

constexpr std::string_view kBuildDate = "org.label-schema.build-date";
using Texts = std::map<std::string, std::string>;

struct HeaderField {
    const char* name;
    std::string (*text)(const Header& header);
    bool is_time = false;
    bool is_id = false;
};
constexpr std::array kHeaderFields = {
    HeaderField{"launch script", [](const Header& h) { return h.launch_script; }},
    HeaderField{"architecture", [](const Header& h) { return h.arch; }},
    HeaderField{"id", [](const Header& h) { return hex(h.id); }, false, true},
    HeaderField{"created", [](const Header& h) { return fmt::format("{}", h.created); }, true},
    HeaderField{"modified", [](const Header& h) { return fmt::format("{}", h.modified); }, true},
    HeaderField{"descriptors free",
                [](const Header& h) { return fmt::format("{}", h.descriptors_free); }},
    HeaderField{"descriptors total",
                [](const Header& h) { return fmt::format("{}", h.descriptors_total); }},
    HeaderField{"descriptors offset",
                [](const Header& h) { return fmt::format("{}", h.descriptors_offset); }},
    HeaderField{"data offset", [](const Header& h) { return fmt::format("{}", h.data_offset); }},
    HeaderField{"data size", [](const Header& h) { return fmt::format("{}", h.data_size); }},
};

struct ObjectField {
    const char* name;
    std::string (*text)(const Descriptor& descriptor);
    bool is_time = false;
};
constexpr std::array kObjectFields = {
    ObjectField{"id", [](const Descriptor& d) { return fmt::format("{}", d.id); }},
    ObjectField{"group", [](const Descriptor& d) { return fmt::format("{}", d.group); }},
    ObjectField{"link", [](const Descriptor& d) { return fmt::format("{:#x}", d.link); }},
    ObjectField{"offset", [](const Descriptor& d) { return fmt::format("{}", d.offset); }},
    ObjectField{"size", [](const Descriptor& d) { return fmt::format("{}", d.size); }},
    ObjectField{"created", [](const Descriptor& d) { return fmt::format("{}", d.created); }, true},
    ObjectField{
        "modified", [](const Descriptor& d) { return fmt::format("{}", d.modified); }, true},
    ObjectField{"uid", [](const Descriptor& d) { return fmt::format("{}", d.uid); }},
    ObjectField{"gid", [](const Descriptor& d) { return fmt::format("{}", d.gid); }},
    ObjectField{"extra",
                [](const Descriptor& d) {
                    const auto text = hex(d.extra);
                    const auto end = (text.find_last_not_of('0') + 2) / 2 * 2;
                    return "0x" + text.substr(0, end);
                }},
};

// Objects of both images belong together by type and name; of several alike, the first to the
// first.
using Objects = std::map<std::string, const Descriptor*>;
Objects compared_objects(const Image& image) {
    Objects objects;
    std::map<std::string, int> counts;
    for (const auto& descriptor : image.descriptors()) {
        std::string name(data_type_name(descriptor.type));
        if (!descriptor.name.empty()) {
            name += " " + descriptor.name;
        }
        const auto count = ++counts[name];
        objects[count == 1 ? name : fmt::format("{} #{}", name, count)] = &descriptor;
    }
    return objects;
}

class Diff {
public:
    Diff(const DiffOptions& options, const DifferenceSink& sink) : options_(options), sink_(sink) {}

    void headers(const Header& before, const Header& after);
    [[nodiscard]] Result<void> objects(const Image& before, const Image& after);
    void texts(const char* section, const Texts& before, const Texts& after);
    void lines(const char* section, const Texts& before, const Texts& after);
    void packages(const PackageList& before, const PackageList& after);

private:
    void
    only(const char* section, Change change, const std::string& name, const std::string& text) {
        const bool is_added = change == Change::kAdded;
        sink_({section, change, name, {{"", is_added ? "" : text, is_added ? text : ""}}, {}});
    }
    const DiffOptions& options_;
    const DifferenceSink& sink_;
};

void Diff::headers(const Header& before, const Header& after) {
    for (const auto& field : kHeaderFields) {
        auto old_text = field.text(before);
        auto new_text = field.text(after);
        const bool is_ignored =
            (field.is_time && options_.ignore_time) || (field.is_id && options_.ignore_id);
        if (old_text != new_text && !is_ignored) {
            sink_({"header",
                   Change::kChanged,
                   field.name,
                   {{"", std::move(old_text), std::move(new_text)}},
                   {}});
        }
    }
}

Result<void> Diff::objects(const Image& before, const Image& after) {
    const auto old_objects = compared_objects(before);
    const auto new_objects = compared_objects(after);
    const auto describe = [](const Descriptor& one) {
        return fmt::format("id {}, group {}, {} bytes", one.id, one.group, one.size);
    };
    for (const auto& [name, object] : old_objects) {
        const auto found = new_objects.find(name);
        if (found == new_objects.end()) {
            only("object", Change::kRemoved, name, describe(*object));
            continue;
        }
        Difference difference{"object", Change::kChanged, name, {}, {}};
        const auto& other = *found->second;
        for (const auto& field : kObjectFields) {
            auto old_text = field.text(*object);
            auto new_text = field.text(other);
            if (old_text != new_text && !(field.is_time && options_.ignore_time)) {
                difference.fields.push_back({field.name, std::move(old_text), std::move(new_text)});
            }
        }
        CYBELE_TRY(const auto old_digest,
                   sha256_range(before.fd(), object->offset, object->size, before.path()));
        CYBELE_TRY(const auto new_digest,
                   sha256_range(after.fd(), other.offset, other.size, after.path()));
        if (old_digest != new_digest) {
            difference.fields.push_back(
                {"content", "sha256:" + hex(old_digest), "sha256:" + hex(new_digest)});
        }
        if (!difference.fields.empty()) {
            sink_(difference);
        }
    }
    for (const auto& [name, object] : new_objects) {
        if (!old_objects.contains(name)) {
            only("object", Change::kAdded, name, describe(*object));
        }
    }
    return {};
}

void Diff::texts(const char* section, const Texts& before, const Texts& after) {
    auto all = before;
    all.insert(after.begin(), after.end());
    for (const auto& [name, ignored] : all) {
        const auto old_text = before.find(name);
        const auto new_text = after.find(name);
        if (options_.ignore_time && name == kBuildDate) {
            continue;
        }
        if (old_text == before.end()) {
            only(section, Change::kAdded, name, new_text->second);
        } else if (new_text == after.end()) {
            only(section, Change::kRemoved, name, old_text->second);
        } else if (old_text->second != new_text->second) {
            sink_(
                {section, Change::kChanged, name, {{"", old_text->second, new_text->second}}, {}});
        }
    }
}

// Texts of several lines; one that is empty is none.
void Diff::lines(const char* section, const Texts& before, const Texts& after) {
    auto all = before;
    all.insert(after.begin(), after.end());
    for (const auto& [name, ignored] : all) {
        const auto text_of = [&, &key = name](const Texts& texts) {
            const auto found = texts.find(key);
            return found == texts.end() ? std::string{} : found->second;
        };
        const auto old_text = text_of(before);
        const auto new_text = text_of(after);
        if (old_text != new_text) {
            const auto change = old_text.empty()   ? Change::kAdded
                                : new_text.empty() ? Change::kRemoved
                                                   : Change::kChanged;
            sink_({section, change, name, {}, unified_diff(old_text, new_text)});
        }
    }
}

void Diff::packages(const PackageList& before, const PackageList& after) {
    // Of one name there can be several versions (pip in two places); they are told together.
    const auto versions_of = [](const PackageList& list) {
        Texts versions;
        for (const auto& package : list.packages) {
            auto name = package.manager + " " + package.name;
            name += package.architecture.empty() ? "" : " " + package.architecture;
            auto& text = versions[name];
            text += (text.empty() ? "" : ", ") + package.version;
        }
        return versions;
    };
    texts("package", versions_of(before), versions_of(after));
}

Texts scripts_of(const Inspection& inspection) {
    Texts scripts{{"runscript", inspection.runscript},
                  {"startscript", inspection.startscript},
                  {"test", inspection.test},
                  {"help", inspection.help}};
    for (const auto& [name, app] : inspection.apps) {
        scripts["app " + name + " runscript"] = app.runscript;
        scripts["app " + name + " test"] = app.test;
        scripts["app " + name + " help"] = app.help;
    }
    return scripts;
}

Result<PackageList> packages_of(const FilePointer& root) {
    CYBELE_TRY(const auto survey, survey_files(root));
    return read_packages(root, survey);
}

} // namespace

Result<std::vector<std::string>> diff_contents(const Contents& before,
                                               const Contents& after,
                                               const DiffOptions& options,
                                               const DifferenceSink& sink) {
    Diff diff(options, sink);
    std::vector<std::string> notes;
    if (before.image && after.image) {
        diff.headers(before.image->header(), after.image->header());
        CYBELE_CHECK(diff.objects(*before.image, *after.image));
    } else if (before.image || after.image) {
        notes.emplace_back("header and objects are not compared: one of the two is not a SIF");
    }
    CYBELE_TRY(const auto old_texts, inspect_contents(before));
    CYBELE_TRY(const auto new_texts, inspect_contents(after));
    diff.texts("label", old_texts.labels, new_texts.labels);
    diff.lines("environment", old_texts.environment, new_texts.environment);
    diff.lines("script", scripts_of(old_texts), scripts_of(new_texts));
    diff.lines("definition",
               {{"definition", old_texts.definition}},
               {{"definition", new_texts.definition}});
    if (!before.root || !after.root) {
        notes.push_back("files and packages are not compared: of the " +
                        std::string(before.root ? "second" : "first") + ", " +
                        (before.root ? after.because : before.because));
        return notes;
    }
    CYBELE_TRY(const auto old_packages, packages_of(before.root));
    CYBELE_TRY(const auto new_packages, packages_of(after.root));
    notes.insert(notes.end(), old_packages.notes.begin(), old_packages.notes.end());
    notes.insert(notes.end(), new_packages.notes.begin(), new_packages.notes.end());
    diff.packages(old_packages, new_packages);
    CYBELE_CHECK(diff_files(before.root, after.root, options, sink));
    return notes;
}

} // namespace cybele::images
