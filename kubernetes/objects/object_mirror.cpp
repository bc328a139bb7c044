// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/objects/object.hpp"
#include "support/json.hpp"

#include <array>

#include <fmt/format.h>

namespace cybele::kubernetes {
namespace {

using launchers::Job;

constexpr std::array kUnservedByMirror{
    Unserved{"array",
             [](const Job& job) { return !job.array.empty(); },
             "a mirror Job follows one job",
             "render one mirror Job an index"},
};

/// How the connector reaches a batch system: hpc-connector's class, and where its address stands.
struct Backend {
    std::string_view through;
    std::string_view name;
    std::string_view host; ///< setting of the Site with the login host
    std::string_view url;  ///< … and with the service's address; empty: none
};
constexpr std::array<Backend, 3> kBackends{
    {{"ssh", "SSH", "ssh", ""},
     {"rimrock", "Rimrock", "host", "rimrock"},
     {"slurmrestd", "Slurmrestd", "slurmrestd", "slurmrestd"}}};

const Backend* find_backend(const Object& object) {
    const auto* site = object.input.site;
    for (const Backend& backend : kBackends) {
        if (site != nullptr && site->through == backend.through) {
            return &backend;
        }
    }
    object.refuse_site("scheduler.through",
                       "a pod reaches the batch system by ssh or by a REST service");
    return nullptr;
}

std::string setting(const Object& object, std::string_view name) {
    const auto& settings = object.input.site->through_settings;
    const auto found = settings.find(std::string(name));
    return found == settings.end() ? std::string{} : found->second;
}

Tree reference_to(const std::string& variable, const std::string& map, const std::string& key) {
    return Tree::Map{
        {"name", variable},
        {"valueFrom", Tree::Map{{"configMapKeyRef", Tree::Map{{"name", map}, {"key", key}}}}}};
}

/// The batch job's identity, the same for every pod of one Job: who finds it in the queue follows
/// that job, so that a pod in place of an evicted one submits nothing again.
Tree identity() {
    return Tree::Map{
        {"name", "CYBELECTL_UID"},
        {"valueFrom",
         Tree::Map{
             {"fieldRef",
              Tree::Map{{"fieldPath", "metadata.labels['batch.kubernetes.io/controller-uid']"}}}}}};
}

/// The Site's bridge is hpc-connector itself: its own command line, its Secret as variables.
bool is_hpc_connector(const Object& object) {
    return object.settings != nullptr && object.settings->bridge == "hpc-connector";
}

Tree connector_container(const Object& object,
                         const std::string& site_map,
                         const std::string& job_map) {
    const launchers::Connector connector = object.connector();
    return Tree::Map{
        {"name", "hpc-connector"},
        {"image", connector.image},
        {"imagePullPolicy", "Always"},
        {"args",
         Tree::List{"--backend",
                    "$(BACKEND_NAME)",
                    "--backend-conf",
                    "$(BACKEND_CONF)",
                    "simulate",
                    "--job-config",
                    "$(JOB_CONF)",
                    "--monitoring-period",
                    "$(MONITORING_PERIOD)",
                    "--print-logs"}},
        {"env",
         Tree::List{reference_to("BACKEND_NAME", site_map, "name"),
                    reference_to("BACKEND_CONF", site_map, "configuration"),
                    reference_to("JOB_CONF", job_map, "job"),
                    reference_to("MONITORING_PERIOD", job_map, "monitoring_period"),
                    identity()}},
        {"envFrom",
         Tree::List{Tree::Map{{"secretRef", Tree::Map{{"name", connector.credentials}}}}}},
        {"lifecycle",
         Tree::Map{
             {"preStop",
              Tree::Map{{"exec", Tree::Map{{"command", Tree::List{"kill", "-SIGINT", "1"}}}}}}}}};
}

// The pod of our own mirror, `cybelectl job mirror`. The user is that of the catalogue's image.
constexpr std::int64_t kUser = 65532;
constexpr std::int64_t kGroupReads =
    0440; ///< of a Secret's files, which belong to root and fsGroup
constexpr const char* kBackendFolder = "/etc/cybelectl/backend";
constexpr const char* kJobFolder = "/etc/cybelectl/job";
constexpr const char* kTokenFolder = "/etc/cybelectl/credentials";
constexpr const char* kSshFolder = "/home/mirror/.ssh"; ///< OpenSSH reads it, whatever HOME says
constexpr const char* kStateFolder = "/run/cybelectl";  ///< of the ssh connection that is kept

Tree mount(const char* name, const char* path, bool is_writable = false) {
    Tree::Map map{{"name", name}, {"mountPath", path}};
    if (!is_writable) {
        map.emplace_back("readOnly", true);
    }
    return map;
}

Tree variable(const char* name, const std::string& value) {
    return Tree::Map{{"name", name}, {"value", value}};
}

Tree mirror_container(const Object& object, bool is_ssh) {
    const launchers::Connector connector = object.connector();
    Tree::List variables{identity()};
    Tree::List mounts{mount("backend", kBackendFolder), mount("job", kJobFolder)};
    if (is_ssh) {
        variables.push_back(variable("CYBELE_STATE_DIR", kStateFolder));
        mounts.push_back(mount("credentials", kSshFolder));
        mounts.push_back(mount("state", kStateFolder, true));
    } else {
        variables.push_back(variable("CYBELE_TOKEN_FILE", std::string(kTokenFolder) + "/token"));
        mounts.push_back(mount("credentials", kTokenFolder));
    }
    return Tree::Map{{"name", "mirror"},
                     {"image", connector.image},
                     {"command",
                      Tree::List{"cybelectl",
                                 "job",
                                 "mirror",
                                 "--backend",
                                 kBackendFolder,
                                 "--job",
                                 kJobFolder,
                                 "--grace",
                                 std::to_string(connector.grace.count()),
                                 "--print-logs"}},
                     {"env", std::move(variables)},
                     {"securityContext",
                      Tree::Map{{"allowPrivilegeEscalation", false},
                                {"readOnlyRootFilesystem", true},
                                {"capabilities", Tree::Map{{"drop", Tree::List{"ALL"}}}}}},
                     {"volumeMounts", std::move(mounts)}};
}

Tree config_volume(const char* name, const std::string& map) {
    return Tree::Map{{"name", name}, {"configMap", Tree::Map{{"name", map}}}};
}

/// What the namespace policy `restricted` asks for, and no right on the API server.
void add_mirror_pod(const Object& object,
                    const std::string& site_map,
                    const std::string& job_map,
                    Tree::Map& pod) {
    const bool is_ssh = object.input.site->through == "ssh";
    Tree::List volumes{config_volume("backend", site_map),
                       config_volume("job", job_map),
                       Tree::Map{{"name", "credentials"},
                                 {"secret",
                                  Tree::Map{{"secretName", object.connector().credentials},
                                            {"defaultMode", kGroupReads}}}}};
    if (is_ssh) {
        volumes.push_back(
            Tree::Map{{"name", "state"}, {"emptyDir", Tree::Map{{"medium", "Memory"}}}});
    }
    pod.emplace_back("automountServiceAccountToken", false);
    pod.emplace_back("securityContext",
                     Tree::Map{{"runAsNonRoot", true},
                               {"runAsUser", kUser},
                               {"runAsGroup", kUser},
                               {"fsGroup", kUser},
                               {"seccompProfile", Tree::Map{{"type", "RuntimeDefault"}}}});
    pod.emplace_back("containers", Tree::List{mirror_container(object, is_ssh)});
    pod.emplace_back("volumes", std::move(volumes));
}

Tree config_map(const Object& object, const std::string& name, Tree::Map data) {
    return Tree::Map{{"apiVersion", "v1"},
                     {"kind", "ConfigMap"},
                     {"metadata", object.metadata(name)},
                     {"data", std::move(data)}};
}

void check_settings(const Object& object, const launchers::Connector& connector) {
    if (connector.image.empty()) {
        object.refuse_site("kubernetes.connector.image", "the mirror Job's pod runs it");
    }
    if (connector.credentials.empty()) {
        object.refuse_site("kubernetes.connector.credentials",
                           "the Secret's name is needed: credentials stand in no ConfigMap");
    }
    if (connector.grace.count() < 60) {
        object.faults.add(warning(
            ErrorCode::kInput,
            problem("mirror-grace-too-short",
                    fmt::format("a grace period of {} s may end before the job is cancelled",
                                connector.grace.count())),
            "it covers preStop, SIGTERM and the cancel over the network",
            "write `grace: 60 s` or more in the Site's kubernetes.connector"));
    }
}

} // namespace

Documents build_mirror_job(const Object& object) {
    refuse_asked(object, kUnservedByMirror);
    const launchers::Connector connector = object.connector();
    check_settings(object, connector);
    if (!is_hpc_connector(object) && !is_absolute_path(object.job.workdir)) {
        object.refuse(
            "workdir",
            problem("mirror-workdir-missing", "a mirrored job needs an absolute `workdir`"),
            "its record and its output are stored below a folder of the cluster",
            "write an absolute path");
    }
    const Backend* backend = find_backend(object);
    if (backend == nullptr) {
        return {};
    }
    nlohmann::json configuration = nlohmann::json::object();
    if (!backend->url.empty()) {
        configuration["url"] = setting(object, backend->url);
    }
    configuration["host"] = setting(object, backend->host);
    nlohmann::json job{{"host", configuration["host"]}, {"script", object.script}};
    if (!is_hpc_connector(object)) {
        configuration["scheduler"] = object.input.dialect;
        job["name"] = object.job.name;
        job["workdir"] = object.job.workdir;
    }
    const std::string site_map =
        connector.backend.empty() ? object.input.site->name + "-backend" : connector.backend;
    const std::string job_map = object.job.name + "-job";
    Tree::Map pod{{"restartPolicy", "Never"},
                  {"terminationGracePeriodSeconds", std::int64_t{connector.grace.count()}}};
    if (auto selector = node_selector(object); !selector.empty()) {
        pod.emplace_back("nodeSelector", std::move(selector));
    }
    if (is_hpc_connector(object)) {
        pod.emplace_back("containers", Tree::List{connector_container(object, site_map, job_map)});
    } else {
        add_mirror_pod(object, site_map, job_map, pod);
    }
    return {config_map(object,
                       site_map,
                       {{"name", backend->name},
                        {"configuration", Tree::Block{json_text(configuration, -1) + "\n"}}}),
            config_map(object,
                       job_map,
                       {{"monitoring_period", std::to_string(connector.monitoring_period.count())},
                        {"job", Tree::Block{json_text(job, -1) + "\n"}}}),
            Tree::Map{{"apiVersion", "batch/v1"},
                      {"kind", "Job"},
                      {"metadata", object.metadata(object.job.name)},
                      {"spec",
                       Tree::Map{{"backoffLimit", std::int64_t{0}},
                                 {"template", Tree::Map{{"spec", std::move(pod)}}}}}}};
}

} // namespace cybele::kubernetes
