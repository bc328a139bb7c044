// SPDX-License-Identifier: Apache-2.0
#include "builder/pack/failed_step.hpp"

#include "builder/layers/layers.hpp"
#include "support/json.hpp"

#include <cstdint>
#include <system_error>

namespace cybele::builder {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kFailedCacheBytes = std::uint64_t{4} << 30U;

std::string print_failed(const FailedStep& failed) {
    nlohmann::json document = parse_json(print_kept(failed.kept));
    nlohmann::json layers = nlohmann::json::array();
    for (const fs::path& layer : failed.layers) {
        layers.push_back(layer.native());
    }
    document["failed"] = {{"code", failed.code},
                          {"section", failed.section},
                          {"state", failed.state},
                          {"attributes", failed.attributes},
                          {"owners", failed.owners},
                          {"layers", layers}};
    return json_text(document, 1) + "\n";
}

std::optional<FailedStep> read_failed(const std::string& about) {
    const nlohmann::json document = parse_json(about);
    const auto found = document.is_object() ? document.find("failed") : document.end();
    if (!document.is_object() || found == document.end() || !found->is_object()) {
        return std::nullopt;
    }
    const auto text = [&](const char* name) { return member_text(*found, name); };
    FailedStep failed;
    failed.kept = read_kept(about);
    failed.section = text("section");
    failed.state = text("state");
    failed.attributes = text("attributes");
    failed.owners = text("owners");
    if (const auto code = found->find("code"); code != found->end() && code->is_number_integer()) {
        failed.code = code->get<int>();
    }
    const auto layers = found->find("layers");
    for (const auto& one : layers != found->end() ? *layers : nlohmann::json::array()) {
        if (one.is_string()) {
            failed.layers.emplace_back(one.get<std::string>());
        }
    }
    return failed;
}

} // namespace

Result<void>
keep_failed_step(const registry::Cache& cache, const FailedStep& failed, const fs::path& tree) {
    const std::string& key = failed.kept.definition;
    CYBELE_TRY(const auto lock, cache.lock(kFailedSteps, key));
    CYBELE_CHECK(
        cache.put(kFailedSteps, key, [&](const fs::path& file) { return pack_layer(tree, file); }));
    cache.note(kFailedSteps, key, print_failed(failed));
    cache.prune(kFailedSteps, kFailedCacheBytes);
    return {};
}

std::optional<FoundFailedStep> find_failed_step(const registry::Cache& cache,
                                                const fs::path& source) {
    const auto squashfs = cache.get(kFailedSteps, source.native());
    auto failed = read_failed(cache.noted(kFailedSteps, source.native()));
    if (!squashfs || !failed) {
        return std::nullopt;
    }
    return FoundFailedStep{std::move(*failed), *squashfs};
}

void forget_failed_step(const registry::Cache& cache, const fs::path& source) {
    std::error_code error;
    const fs::path entry = cache.path(kFailedSteps, source.native());
    if (fs::exists(entry, error)) {
        (void)registry::Cache::remove(
            {std::string(kFailedSteps), entry.stem().native(), entry, 0, 0, {}});
    }
}

} // namespace cybele::builder
