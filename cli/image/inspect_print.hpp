// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/inspection/checked_facts.hpp"
#include "images/inspection/contents.hpp"
#include "images/inspection/inspect.hpp"
#include "images/inspection/listing.hpp"
#include "images/inspection/packages.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace cybele::cli {

/// The parts of an image's metadata that were asked for.
struct MetadataChoice {
    bool labels = false;
    bool deffile = false;
    bool runscript = false;
    bool startscript = false;
    bool test = false;
    bool environment = false;
    bool helpfile = false;

    [[nodiscard]] bool any() const {
        return labels || deffile || runscript || startscript || test || environment || helpfile;
    }
};

/// The chosen parts; the others are empty.
[[nodiscard]] images::Inspection chosen(const images::Inspection& inspection,
                                        const MetadataChoice& choice);
/// As Apptainer's `inspect` prints them, in its order. On a terminal, what could steer it is
/// escaped.
/// Where it `is_trimmed`, each text ends with one line end, as Apptainer prints those of
/// folders.
void print_metadata(const images::Inspection& inspection,
                    const MetadataChoice& choice,
                    bool is_trimmed = false);
/// As Apptainer's `inspect --json` prints it, to the byte.
[[nodiscard]] std::string apptainer_json(const images::Inspection& inspection);

/// By the name of Apptainer, which starts a bare squashfs to look at it: kInput where no shell is
/// in one.
[[nodiscard]] Result<void> check_has_shell(const std::string& path,
                                           const images::Contents& contents);

/// A JSON object on standard output, member by member, so that a list can be longer than memory.
class Document {
public:
    Document();
    Document(const Document&) = delete;
    Document& operator=(const Document&) = delete;
    ~Document();
    void member(std::string_view name, const nlohmann::ordered_json& value);
    void begin_list(std::string_view name);
    void entry(const nlohmann::ordered_json& value);
    void end_list();
    /// The closing brace; the destructor does it otherwise.
    void finish();

private:
    bool is_first_entry_ = true;
    bool is_finished_ = false;
};

void metadata_members(Document& document, const images::Inspection& inspection);
[[nodiscard]] nlohmann::ordered_json file_json(const std::string& path,
                                               const images::FileStatus& status);
[[nodiscard]] nlohmann::ordered_json packages_json(const images::PackageList& list);
[[nodiscard]] std::string packages_text(const images::PackageList& list);
[[nodiscard]] nlohmann::ordered_json facts_json(const std::vector<images::CheckedFact>& facts);
[[nodiscard]] std::string facts_text(const std::vector<images::CheckedFact>& facts);

} // namespace cybele::cli
