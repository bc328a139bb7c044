// SPDX-License-Identifier: Apache-2.0
#include "pipeline/provenance.hpp"

#include "images/signatures/dsse.hpp"
#include "support/json.hpp"

#include <ctime>

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace cybele::pipeline {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kStatement = "https://in-toto.io/Statement/v1";
constexpr const char* kPredicate = "https://slsa.dev/provenance/v1";
constexpr const char* kPayloadType = "application/vnd.in-toto+json";
/// Names, not addresses: nothing is to be found there.
constexpr const char* kBuildType = "urn:cybelectl:build:v1";
constexpr const char* kBuilder = "urn:cybelectl:builder:";

std::string time_text(std::int64_t seconds) {
    const std::time_t time = seconds;
    std::tm parts{};
    return ::gmtime_r(&time, &parts) == nullptr ? "1970-01-01T00:00:00Z"
                                                : fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", parts);
}

Json dependency(const std::string& uri, const std::string& digest) {
    constexpr std::string_view kAlgorithm = "sha256:";
    return {
        {"uri", uri},
        {"digest",
         {{"sha256", digest.starts_with(kAlgorithm) ? digest.substr(kAlgorithm.size()) : digest}}}};
}

} // namespace

std::string provenance_statement(const BuildFacts& facts) {
    Json dependencies = Json::array();
    for (const builder::UsedBase& base : facts.bases) {
        dependencies.push_back(dependency(base.uri, base.digest));
    }
    if (!facts.recipe.empty()) {
        dependencies.push_back(dependency("urn:cybelectl:recipe:" + facts.source, facts.recipe));
    }
    Json external{{"source", facts.source},
                  {"definition", {{"sha256", facts.definition}}},
                  {"arguments", Json::object()}};
    for (const auto& [name, value] : facts.arguments) {
        external["arguments"][name] = value;
    }
    const Json statement{
        {"_type", kStatement},
        {"subject", Json::array({{{"name", facts.image}, {"digest", {{"sha256", facts.digest}}}}})},
        {"predicateType", kPredicate},
        {"predicate",
         {{"buildDefinition",
           {{"buildType", kBuildType},
            {"externalParameters", external},
            {"internalParameters", Json::object()},
            {"resolvedDependencies", dependencies}}},
          {"runDetails",
           {{"builder",
             {{"id", kBuilder + facts.builder}, {"version", {{"cybelectl", CYBELE_VERSION}}}}},
            {"metadata",
             {{"invocationId", facts.digest},
              {"startedOn", time_text(facts.started)},
              {"finishedOn", time_text(facts.finished)}}},
            {"byproducts", Json::array()}}}}}};
    return json_text(statement, -1);
}

Result<std::string> signed_provenance(const BuildFacts& facts, const images::Signers& signers) {
    images::Envelope envelope;
    envelope.payload_type = kPayloadType;
    envelope.payload = provenance_statement(facts);
    const std::string bytes =
        images::pre_authentication_encoding(envelope.payload_type, envelope.payload);
    for (const auto& signer : signers.keys) {
        CYBELE_TRY(std::string signature, signer.key.sign(bytes));
        envelope.signatures.push_back(
            {signer.key.public_key().envelope_id(), std::move(signature)});
    }
    return images::write_envelope(envelope) + "\n";
}

} // namespace cybele::pipeline
