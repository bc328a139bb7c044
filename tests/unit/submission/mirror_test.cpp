// SPDX-License-Identifier: Apache-2.0
// The configuration of a mirrored job: two ConfigMaps as folders.
#include "submission/submit/mirror.hpp"
#include "support/file.hpp"

#include <set>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace cybele::submission {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

struct Maps {
    TempDirectory directory = TempDirectory::make("/tmp", "cybele-test").value();
    MirrorFiles files{directory.path() / "backend", directory.path() / "job"};
    Json configuration{{"host", "me@hall"}, {"workdir", "/work"}};
    Json job{{"script", "#!/bin/sh\n#SBATCH -N 3 -n 10 -c 2 -J mine -o out -e err --array=0-4\n"}};

    Maps() {
        REQUIRE(make_directories(files.backend));
        REQUIRE(make_directories(files.job));
        name("SSH\n");
    }
    void name(const std::string& text) const {
        REQUIRE(write_file(files.backend / "name", text));
    }
    void period(const std::string& text) const {
        REQUIRE(write_file(files.job / "monitoring_period", text));
    }
    [[nodiscard]] Result<Mirror> read() const {
        REQUIRE(write_file(files.backend / "configuration", configuration.dump()));
        REQUIRE(write_file(files.job / "job", job.dump()));
        return read_mirror(files);
    }
    [[nodiscard]] std::string ids() const {
        std::string ids;
        const auto mirror = read();
        for (const Fault& fault : mirror ? std::vector<Fault>() : mirror.error().faults()) {
            ids += (ids.empty() ? "" : " ") + fault.id;
        }
        return ids;
    }
};

} // namespace

TEST_CASE("mirror: the script's directives say what it needs") {
    Maps maps;
    const auto mirror = maps.read();
    REQUIRE(mirror);
    CHECK(mirror->connection.kind == Connection::Kind::kSsh);
    CHECK(mirror->connection.address == "me@hall");
    CHECK(mirror->scheduler == "slurm");
    CHECK(mirror->name == "mine");
    CHECK(mirror->workdir == "/work");
    CHECK(mirror->nodes == 3);
    CHECK(mirror->tasks == 10);
    CHECK(mirror->cpus == 20);
    CHECK(mirror->array == "0-4");
    CHECK(mirror->standard_output == "out");
    CHECK(mirror->standard_error == "err");
    CHECK(mirror->longest == std::chrono::seconds(30));
    CHECK(mirror->script == maps.job["script"].get<std::string>());
    maps.job["script"] = "#!/bin/sh\n#SBATCH -N 3 --ntasks-per-node=4\n";
    CHECK(maps.read()->tasks == 12);
    CHECK(maps.read()->name == "mirrored");
    maps.job["name"] = "given";
    CHECK(maps.read()->name == "given");
    maps.job["script"] = "#!/bin/sh\n#PBS -N pbs\n#PBS -l nodes=2:ppn=4\n";
    CHECK(maps.read()->scheduler == "torque");
    maps.job["script"] = "#!/bin/sh\n#PBS -l select=2:ncpus=4\n";
    CHECK(maps.read()->scheduler == "pbspro");
    maps.configuration["scheduler"] = "torque";
    CHECK(maps.read()->scheduler == "torque");
}

TEST_CASE("mirror: the folder is the job's, else the script's, else the cluster's") {
    Maps maps;
    maps.job["script"] = "#!/bin/sh\n#SBATCH -D /script\n";
    CHECK(maps.read()->workdir == "/script");
    maps.job["workdir"] = "/job";
    CHECK(maps.read()->workdir == "/job");
    maps.job = {{"script", "#!/bin/sh\n"}};
    CHECK(maps.read()->workdir == "/work");
    maps.configuration.erase("workdir");
    CHECK(maps.ids() == "mirror-folder-missing");
    maps.configuration["workdir"] = "relative";
    CHECK(maps.ids() == "mirror-folder-missing");
}

TEST_CASE("mirror: each back end needs what it is reached by") {
    Maps maps;
    const auto ids = [&](const char* name, const Json& configuration) {
        maps.name(name);
        maps.configuration = configuration;
        maps.configuration["workdir"] = "/work";
        return maps.ids();
    };
    CHECK(ids("SSH", {{"host", "hall"}}) == "");
    CHECK(ids("SSH", Json::object()) == "mirror-host-missing");
    CHECK(ids("SSH", {{"host", "-oProxyCommand=x"}}) == "mirror-host-missing");
    CHECK(ids("Commands", Json::object()) == "");
    CHECK(ids("Slurmrestd", {{"url", "https://s.example"}}) == "");
    CHECK(ids("Slurmrestd", {{"host", "hall"}}) == "mirror-url-missing");
    CHECK(ids("Slurmrestd", {{"url", "http://s.example"}}) == "token-over-http");
    CHECK(ids("Rimrock", {{"url", "https://r.example"}}) == "mirror-host-missing");
    CHECK(ids("Rimrock", {{"host", "hall"}}) == "mirror-url-missing");
    CHECK(ids("Other", Json::object()) == "mirror-backend-unknown");
    CHECK(ids("Rimrock",
              {{"url", "https://r.example"}, {"host", "h"}, {"token-command", "cat t"}}) == "");
    const auto rimrock = maps.read();
    CHECK(rimrock->connection.kind == Connection::Kind::kRimrock);
    CHECK(rimrock->connection.address == "https://r.example");
    CHECK(rimrock->connection.host == "h");
    CHECK(rimrock->connection.token_command == "cat t");
}

TEST_CASE("mirror: all that is wrong is told at once") {
    Maps maps;
    maps.name("Other");
    maps.job = {{"script", ""}};
    maps.period("soon");
    CHECK(maps.ids() == "mirror-backend-unknown mirror-script-missing mirror-seconds");
    maps.name("SSH");
    maps.period("30");
    maps.job = {{"script", 5}};
    CHECK(maps.ids() == "mirror-value-not-text mirror-script-missing");
    maps.job = Json::array();
    CHECK(maps.ids() == "mirror-file-malformed mirror-script-missing");
    fs::remove(maps.files.backend / "name");
    CHECK_FALSE(maps.read());
}

TEST_CASE("mirror: the pause between two questions is a number of seconds") {
    const Maps maps;
    const std::pair<const char*, int> good[] = {
        {"1", 1}, {"30\n", 30}, {"7 \n", 7}, {"99999", 99999}};
    for (const auto& [text, seconds] : good) {
        maps.period(text);
        CAPTURE(text);
        REQUIRE(maps.read());
        CHECK(maps.read()->longest == std::chrono::seconds(seconds));
    }
    for (const char* bad : {"", "\n", "0", "100000", "-1", "1.5", "1s", " 1"}) {
        maps.period(bad);
        CHECK_MESSAGE(maps.ids() == "mirror-seconds", bad);
    }
}

TEST_CASE("mirror: a pod's successor has the same UUID, any other job another") {
    const std::string one = uuid_of("default/pod-1");
    CHECK(one == uuid_of("default/pod-1"));
    std::set<std::string> all;
    for (int i = 0; i < 100; ++i) {
        const std::string made = uuid_of("default/pod-" + std::to_string(i));
        all.insert(made);
        REQUIRE(made.size() == 36);
        for (std::size_t at = 0; at < made.size(); ++at) {
            const bool is_dash = at == 8 || at == 13 || at == 18 || at == 23;
            CHECK((made[at] == '-') == is_dash);
        }
        CHECK(made[14] == '8'); // version and variant of RFC 9562
        CHECK(made[19] == 'a');
    }
    CHECK(all.size() == 100);
}

} // namespace cybele::submission
