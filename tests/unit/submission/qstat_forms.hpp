// SPDX-License-Identifier: Apache-2.0
// The machine forms of qstat: what its text says is compared with them. The program reads the text.
#pragma once

#include "submission/backends/pbs.hpp"

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace cybele::qstat {

inline std::string unescaped_xml(std::string_view text) {
    constexpr std::array<std::pair<std::string_view, char>, 5> kEntities{
        {{"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&apos;", '\''}}};
    std::string plain;
    while (!text.empty()) {
        bool is_entity = false;
        for (const auto& [entity, letter] : kEntities) {
            if (text.starts_with(entity)) {
                plain += letter;
                text.remove_prefix(entity.size());
                is_entity = true;
                break;
            }
        }
        if (!is_entity) {
            plain += text.front();
            text.remove_prefix(1);
        }
    }
    return plain;
}

/// The elements between `<Job>` and `</Job>`, at most two deep as TORQUE writes them.
inline void
read_elements(std::string_view text, const std::string& prefix, submission::PbsJob& into) {
    while (true) {
        const std::size_t open = text.find('<');
        const std::size_t close = text.find('>', open);
        if (open == std::string_view::npos || close == std::string_view::npos) {
            return;
        }
        const std::string name(text.substr(open + 1, close - open - 1));
        const std::size_t end = text.find("</" + name + ">", close);
        if (end == std::string_view::npos) {
            return;
        }
        const std::string_view inner = text.substr(close + 1, end - close - 1);
        if (inner.starts_with('<') && prefix.empty()) {
            read_elements(inner, name + ".", into);
        } else if (name == "Job_Id") {
            into.id = inner;
        } else {
            into.attributes[prefix + name] = unescaped_xml(inner);
        }
        text.remove_prefix(end + name.size() + 3);
    }
}

/// `qstat -x` of TORQUE: XML in one line.
inline std::vector<submission::PbsJob> read_qstat_xml(std::string_view text) {
    constexpr std::string_view kOpen = "<Job>";
    constexpr std::string_view kClose = "</Job>";
    std::vector<submission::PbsJob> jobs;
    while (true) {
        const std::size_t open = text.find(kOpen);
        const std::size_t close = text.find(kClose, open);
        if (open == std::string_view::npos || close == std::string_view::npos) {
            return jobs;
        }
        jobs.emplace_back();
        read_elements(
            text.substr(open + kOpen.size(), close - open - kOpen.size()), "", jobs.back());
        text.remove_prefix(close + kClose.size());
    }
}

/// `qstat -f -F json` of OpenPBS. Its Variable_List is not read: the product guesses the types of
/// its values.
inline std::vector<submission::PbsJob> read_qstat_json(std::string_view text) {
    using Json = nlohmann::json;
    std::vector<submission::PbsJob> jobs;
    const Json document = Json::parse(text, nullptr, false);
    if (!document.is_object() || !document.contains("Jobs") || !document["Jobs"].is_object()) {
        return jobs;
    }
    const auto put = [](submission::PbsJob& job, const std::string& name, const Json& value) {
        job.attributes[name] = value.is_string() ? value.get<std::string>() : value.dump();
    };
    for (const auto& [id, attributes] : document["Jobs"].items()) {
        submission::PbsJob job{id, {}};
        for (const auto& [name, value] : attributes.items()) {
            if (name == "Variable_List") {
                continue;
            }
            if (!value.is_object()) {
                put(job, name, value);
                continue;
            }
            for (const auto& [inner, nested] : value.items()) {
                put(job, std::string(name).append(".").append(inner), nested);
            }
        }
        jobs.push_back(std::move(job));
    }
    return jobs;
}

} // namespace cybele::qstat
