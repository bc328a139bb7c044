// SPDX-License-Identifier: Apache-2.0
#include "submission/submit/differences.hpp"

#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/file.hpp"
#include "support/json.hpp"
#include "support/quote.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cybele::submission {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::size_t kLongestDocument = std::size_t{16} << 20U;

std::string since(const Entry& before) {
    return "since job " + before.id + ", ";
}

std::string change(const std::string& was, const std::string& is) {
    return is.empty() ? "not known: it was " + was
                      : "another one: it was " + was + ", and is " + is;
}

void add_inputs(const Entry& before,
                const Json& was,
                const std::map<std::string, std::string>& is,
                std::vector<Difference>& differences) {
    std::map<std::string, std::string> known;
    if (was.is_object()) {
        for (const auto& [name, digest] : was.items()) {
            known[name] = digest.is_string() ? digest.get<std::string>() : std::string();
        }
    }
    const auto add = [&](const std::string& name,
                         const std::string& old,
                         const std::string& now,
                         const std::string& text) {
        differences.push_back({"input",
                               name,
                               old,
                               now,
                               since(before) + "the input " + printable(name) + " is " + text});
    };
    for (const auto& [name, digest] : known) {
        const auto found = is.find(name);
        if (found == is.end()) {
            add(name, digest, "", "gone: it was " + digest);
        } else if (found->second != digest) {
            add(name, digest, found->second, change(digest, found->second));
        }
    }
    for (const auto& [name, digest] : is) {
        if (!known.contains(name)) {
            add(name, "", digest, "new: it is " + digest);
        }
    }
}

} // namespace

std::string document_digest(const fs::path& place) {
    std::error_code error;
    const auto text =
        read_file(fs::is_directory(place, error) ? place / "job.yaml" : place, kLongestDocument);
    return text ? "sha256:" + hex(sha256(*text)) : std::string();
}

std::map<std::string, std::string> input_digests(const RenderedJob& job) {
    constexpr std::size_t kMost = 1000;
    constexpr std::uintmax_t kLargest = std::uintmax_t{1} << 30U; // a larger one is not read again
    std::map<std::string, std::string> digests;
    for (const StagedFile& staged : job.transfers.staged_files) {
        if (staged.field != "image" && staged.digest.size() > 1) {
            digests[staged.target] = "sha256:" + staged.digest;
        }
    }
    if (digests.size() > kMost) {
        std::string all;
        for (const auto& [name, digest] : digests) {
            all += name + '\0' + digest + '\n';
        }
        digests = {{fmt::format("{} files", digests.size()), "sha256:" + hex(sha256(all))}};
    }
    const launchers::NodeText& input = job.input.job.input;
    const fs::path file = job.input.job.place(job.input.job.workdir) / input.text;
    std::error_code error;
    if (!input.text.empty() && !input.expands && fs::is_regular_file(file, error) &&
        fs::file_size(file, error) <= kLargest) {
        if (const auto digest = sha256_file(file)) {
            digests[input.text] = "sha256:" + hex(*digest);
        }
    }
    return digests;
}

namespace {

/// Whether both run the same elements, or rows of a packed sweep: which they are stands in the
/// script.
bool has_same_runs(const Entry& before, const Json& asked, const launchers::Job& job) {
    std::string rows;
    for (const std::uint32_t number :
         job.sweep ? job.sweep->numbers : std::vector<std::uint32_t>()) {
        rows += fmt::format("{}{}", rows.empty() ? "" : ",", number);
    }
    return before.array == job.array && member_text(member_of(asked, "overrides"), "rows") == rows;
}

} // namespace

std::vector<Difference> differences_since(const Entry& before, const RenderedJob& now) {
    const Json asked = parse_json(before.request);
    std::vector<Difference> differences;
    const Json document = asked.is_object() ? asked.value("document-digest", Json()) : Json();
    const std::string was = document.is_string() ? document.get<std::string>() : std::string();
    if (const std::string is = document_digest(before.job); !was.empty() && was != is) {
        differences.push_back({"document",
                               "",
                               was,
                               is,
                               printable(before.job) + " has changed since job " + before.id +
                                   " was submitted: it is submitted as it is now"});
    }
    if (const std::string& is = now.input.file_digest;
        !before.image_digest.empty() && before.image_digest != is) {
        differences.push_back({"image",
                               "",
                               before.image_digest,
                               is,
                               since(before) + "the image is " + change(before.image_digest, is)});
    }
    const std::string script = "sha256:" + hex(sha256(now.script));
    if (!before.script.empty() && before.script != script &&
        has_same_runs(before, asked, now.input.job)) {
        differences.push_back({"script",
                               "",
                               before.script,
                               script,
                               since(before) + "the batch script is " +
                                   change(before.script, script) +
                                   ": its Job, its image, its Site or cybelectl changed"});
    }
    if (asked.is_object() && asked.contains("inputs")) {
        add_inputs(before, asked.at("inputs"), input_digests(now), differences);
    }
    return differences;
}

} // namespace cybele::submission
