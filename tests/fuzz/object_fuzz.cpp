// SPDX-License-Identifier: Apache-2.0
#include "bridge/configuration/configuration.hpp"
#include "bridge/configuration/managed_job.hpp"
#include "bridge/objects/admission.hpp"
#include "bridge/objects/object.hpp"
#include "bridge/verbs/answer.hpp"
#include "launchers/documents/site.hpp"
#include "tests/fuzz/checks.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

using namespace cybele;
using namespace cybele::fuzz;
using namespace cybele::bridge;

namespace {

/// What is submitted for an object has an account of the administrator's, and no refusal.
void check_admission(const Object& object) {
    Site site;
    site.accounts = {{"space", "user", {}, {"/scratch"}}};
    site.queues.resize(1);
    site.queues.front().name = "batch";
    site.queues.front().nodes = 4;
    site.default_queue = "batch";
    for (const Kind kind : {Kind::kSlurmJob, Kind::kTorqueJob}) {
        site.kind = kind;
        const Admitted admitted = admit(object, site);
        must(admitted.refusal ? !admitted.refusal->reason.empty() : admitted.account == "user");
    }
}

/// An object that is read has an identity; all that is wrong with it has a reason.
void try_object(std::string_view json, const JobReader& jobs) {
    auto object = read_object(json, jobs);
    if (!object) {
        check_refusal(object.error());
        return;
    }
    must(!object->uid.empty() && !object->name.empty());
    must(!object->refusal || !object->refusal->reason.empty());
    check_admission(*object);
    must(status_json(object->status) == status_json(object->status));
    forget_script(*object);
}

void try_request(std::string_view line) {
    const auto request = read_listener_request(line);
    if (!request) {
        check_refusal(request.error());
    }
}

} // namespace

/// Objects of an API server that users wrote, and requests to the listener. The first byte chooses.
// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
    static const Configuration configuration = [] {
        Configuration one;
        one.document.manages_jobs = true;
        one.dialect = "slurm";
        one.cluster =
            launchers::read_site("kind: Site\nname: a\nscheduler: slurm\n", "site.yaml").value();
        return one;
    }();
    switch (data[0] % 3) {
    case 0:
        try_object(text, {});
        break;
    case 1:
        try_object(text, job_reader(configuration));
        break;
    default:
        try_request(text);
        break;
    }
    return 0;
}
