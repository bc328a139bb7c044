// SPDX-License-Identifier: Apache-2.0
#include "bridge/nodes/collect_pod.hpp"

#include "bridge/batch/outputs.hpp"
#include "bridge/nodes/pod_view.hpp"
#include "support/json.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <charconv>
#include <map>

#include <fmt/format.h>

namespace cybele::bridge {
namespace {

using CollectorJson = nlohmann::json;

constexpr int kUserOfCollector = 65532;
constexpr std::size_t kLongestReport = 3900;
constexpr std::size_t kLettersOfDigest = 64;
constexpr std::size_t kLongestPodName = 253;

bool is_name_below(std::string_view name) {
    const std::string path = "/" + std::string(name) + "/";
    return !name.empty() && name.size() <= 4096 && path.find("//") == std::string::npos &&
           path.find("/../") == std::string::npos && path.find("/./") == std::string::npos &&
           std::ranges::none_of(name, [](char letter) {
               return static_cast<unsigned char>(letter) < ' ' || letter == '\x7f';
           });
}

std::optional<OfferedFile> offered_file(std::string_view line) {
    OfferedFile file;
    const auto [end, fault] = std::from_chars(line.data(), line.data() + line.size(), file.size);
    const auto used = static_cast<std::size_t>(end - line.data());
    if (fault != std::errc() || line.size() < used + kLettersOfDigest + 3 || line[used] != ' ' ||
        line[used + 1 + kLettersOfDigest] != ' ') {
        return std::nullopt;
    }
    file.sha256 = line.substr(used + 1, kLettersOfDigest);
    file.name = line.substr(used + kLettersOfDigest + 2);
    const bool is_good = file.sha256.find_first_not_of("0123456789abcdef") == std::string::npos &&
                         is_name_below(file.name);
    return is_good ? std::optional(std::move(file)) : std::nullopt;
}

CollectorJson volumes_of(const Object& object) {
    return {
        {{"name", "results"}, {"persistentVolumeClaim", {{"claimName", claim_of(object)}}}},
        {{"name", "tmp"}, {"emptyDir", CollectorJson::object()}},
        {{"name", "bridge"},
         {"projected",
          {{"sources",
            {{{"serviceAccountToken",
               {{"audience", kCollectorAudience}, {"expirationSeconds", 3600}, {"path", "token"}}}},
             {{"downwardAPI",
               {{"items",
                 {{{"path", "certificate.pem"},
                   {"fieldRef",
                    {{"fieldPath",
                      "metadata.annotations['cybelectl.io/certificate']"}}}}}}}}}}}}}}};
}

CollectorJson container_of(const Object& object, const CollectorPlace& place) {
    return {{"name", "results"},
            {"image", place.image},
            {"args",
             {"bridge",
              "collect",
              "--from",
              "https://" + place.address,
              "--token",
              "/run/cybelectl/token",
              "--certificate",
              "/run/cybelectl/certificate.pem",
              "--report",
              "/dev/termination-log",
              object.space + "/" + object.name,
              "/results"}},
            {"securityContext",
             {{"allowPrivilegeEscalation", false},
              {"readOnlyRootFilesystem", true},
              {"capabilities", {{"drop", {"ALL"}}}}}},
            {"volumeMounts",
             {{{"name", "results"}, {"mountPath", "/results"}},
              {{"name", "tmp"}, {"mountPath", "/tmp"}},
              {{"name", "bridge"}, {"mountPath", "/run/cybelectl"}, {"readOnly", true}}}}};
}

} // namespace

std::string collector_name(const Object& object) {
    constexpr std::string_view kEnding = "-results";
    std::string name = object.name;
    if (name.size() + kEnding.size() > kLongestPodName) {
        name = "job-" + object.uid;
    }
    return name + std::string(kEnding);
}

CollectorJson collector_json(const Object& object, const CollectorPlace& place) {
    return {{"apiVersion", "v1"},
            {"kind", "Pod"},
            {"metadata",
             {{"name", collector_name(object)},
              {"namespace", object.space},
              {"labels", {{kCollectorLabel, place.bridge}, {"cybelectl.io/uid", object.uid}}},
              {"annotations", {{"cybelectl.io/certificate", place.certificate}}},
              {"ownerReferences", CollectorJson::array({owner_reference(object)})}}},
            {"spec",
             {{"restartPolicy", "Never"},
              {"automountServiceAccountToken", false},
              {"enableServiceLinks", false},
              {"securityContext",
               {{"runAsNonRoot", true},
                {"runAsUser", kUserOfCollector},
                {"runAsGroup", kUserOfCollector},
                {"fsGroup", kUserOfCollector},
                {"seccompProfile", {{"type", "RuntimeDefault"}}}}},
              {"containers", CollectorJson::array({container_of(object, place)})},
              {"volumes", volumes_of(object)}}}};
}

std::optional<std::vector<OfferedFile>> read_offer(std::string_view text) {
    std::vector<OfferedFile> files;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        if (end == std::string_view::npos) {
            return std::nullopt; // cut off
        }
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(end + 1);
        if (line == "complete") {
            return text.empty() ? std::optional(std::move(files)) : std::nullopt;
        }
        auto file = offered_file(line);
        if (!file) {
            return std::nullopt;
        }
        files.push_back(std::move(*file));
    }
    return std::nullopt;
}

std::string keep_each_once(std::vector<OfferedFile>& files) {
    std::map<std::string, std::string> known; // digests by name
    std::vector<OfferedFile> kept;
    for (OfferedFile& file : files) {
        const auto [first, is_new] = known.emplace(file.name, file.sha256);
        if (is_new) {
            kept.push_back(std::move(file));
        } else if (first->second != file.sha256) {
            return first->first;
        }
    }
    files = std::move(kept);
    return {};
}

std::string collector_report(const std::vector<OfferedFile>& files) {
    std::string report = "collected\n";
    const std::string end = fmt::format("count {}\ncomplete\n", files.size());
    for (const OfferedFile& file : files) {
        const std::string line =
            fmt::format("result {} {} {}\n", file.size, file.sha256, file.name);
        if (report.size() + line.size() + end.size() > kLongestReport) {
            break;
        }
        report += line;
    }
    return report + end;
}

std::string collector_failure(std::string_view reason, std::string_view words) {
    constexpr std::size_t kLongestWords = 1000;
    return fmt::format(
        "failed {} {}\ncomplete\n", reason, printable(std::string(words.substr(0, kLongestWords))));
}

} // namespace cybele::bridge
