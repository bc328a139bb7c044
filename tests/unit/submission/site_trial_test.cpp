// SPDX-License-Identifier: Apache-2.0
// What `site check` finds by trying a Site.
#include "submission/submit/site_trial.hpp"
#include "support/file.hpp"
#include "support/message.hpp"
#include "support/process.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace cybele::submission {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kTrialTime = 2'000'000'000;

struct TrialPlace {
    TempDirectory folder = TempDirectory::make("/var/tmp", "cybele-trial").value();
    EnvironmentMap variables{{"PATH", "/usr/bin:/bin"}, {"HOME", folder.path().native()}};

    void put(const std::string& name, const std::string& text) const {
        REQUIRE(make_directories((folder.path() / name).parent_path()));
        REQUIRE(write_file(folder.path() / name, text));
    }
    void openssl(const std::vector<std::string>& words) const {
        Command command;
        command.argv = {"openssl"};
        command.argv.insert(command.argv.end(), words.begin(), words.end());
        command.directory = folder.path();
        const auto outcome = run_process(command);
        REQUIRE_MESSAGE((outcome && outcome->ok()), outcome->errors);
    }
    [[nodiscard]] std::vector<Fault> tried(const std::string& fields) const {
        const auto site =
            launchers::read_site("kind: Site\nname: hall\n" + fields, folder.path() / "site.yaml");
        if (!site) {
            FAIL(format_text(site.error().faults()));
        }
        return try_site(*site, Environment(variables), kTrialTime).all();
    }
    /// `site.yaml:3:5: message`, one line each.
    [[nodiscard]] std::string told(const std::string& fields) const {
        std::string text;
        for (const Fault& fault : tried(fields)) {
            CHECK_FALSE(fault.help.empty());
            REQUIRE(fault.where.has_value());
            text += fs::path(fault.where->file).filename().native() + ":" +
                    std::to_string(fault.where->line) + ":" + std::to_string(fault.where->column) +
                    ": " + (fault.is_warning ? "warning: " : "") + fault.message + "\n";
        }
        return text;
    }
};

} // namespace

TEST_CASE("a Site without mistakes: each kind of launch is rendered for each queue of each kind") {
    const TrialPlace place;
    for (const char* const dialect : {"slurm", "torque", "pbspro", "slurm-torque", "local"}) {
        CAPTURE(dialect);
        CHECK(place.told("scheduler: " + std::string(dialect) + "\n").empty());
        CHECK(place
                  .told("scheduler: " + std::string(dialect) +
                        "\nsetup: shopt -s extglob; ls !(a)\nqueues:\n  - {name: batch, nodes: 2}\n"
                        "  - {name: gpu, gpus-per-node: 4, gpu-type: a100}\n")
                  .empty());
    }
}

TEST_CASE("what no job of the Site could use is told at once, each mistake once, at its place") {
    const TrialPlace place;
    place.put("templates/script/nothing.mustache", "true\n");
    place.put("other/dialect/head.mustache", "{{#no}}\n");
    struct Row {
        const char* fields;
        const char* told;
    };
    for (const Row& row :
         {Row{"scheduler: slurm\nqueues:\n  - {name: a}\n"
              "  - {name: b, directives: {slurm: [--swiches=1]}}\n",
              "site.yaml:6:36: slurm has no option '--swiches'\n"},
          Row{"scheduler: pbspro\naccount: a b\n",
              "site.yaml:4:10: 'a b' cannot be carried by a directive of pbspro\n"},
          Row{"scheduler: pbspro\nqueues:\n  - {name: q, account: -x}\n",
              "site.yaml:5:24: '-x' cannot be carried by a directive of pbspro\n"},
          Row{"scheduler: slurm\naccount: a\ndirectives: {slurm: [--account=b]}\n",
              "site.yaml:5:22: `--account` has no place in a Site\n"},
          Row{"scheduler: slurm\nqueues: [{name: none, nodes: 0}]\n",
              "site.yaml:4:17: no job can be rendered for it: 1 nodes are requested, but queue "
              "'none' has 0\n"},
          Row{"scheduler: slurm\nsetup: |\n  if true; then\n"
              "queues: [{name: q, teardown: [{run: 'a ) b'}]}]\n",
              "site.yaml:4:8: this is not valid shell code\n"
              "site.yaml:6:37: this is not valid shell code\n"},
          Row{"scheduler: slurm\ntemplates: templates\n",
              "site.yaml:4:12: no template is called 'script/nothing'\n"},
          Row{"scheduler: slurm\nverify: {keys: [/none.pub]}\n",
              "site.yaml:4:17: '/none.pub' is not there\n"},
          Row{"scheduler: slurm\nverify: /none.yaml\n",
              "site.yaml:4:9: '/none.yaml' is not there\n"}}) {
        CAPTURE(row.fields);
        CHECK(place.told(row.fields) == row.told);
    }
    const auto step = place.tried("scheduler: slurm\nsetup: |\n  true\n  if true; then\n");
    REQUIRE(step.size() == 1);
    CHECK(step[0].because.starts_with("`bash -n` says: line 3: syntax error"));
    const auto head = place.tried("scheduler: slurm\ntemplates: other\n");
    REQUIRE(head.size() == 1);
    CHECK(head[0].where.has_value());
}

TEST_CASE("the Policy of a Site: what is in it, its keys, certificates and OpenPGP keys") {
    const TrialPlace place;
    const std::string site =
        "scheduler: slurm\nverify: " + (place.folder.path() / "policy.yaml").native() + "\n";
    const auto told = [&](const std::string& policy) {
        place.put("policy.yaml", "kind: Policy\n" + policy);
        return place.told(site);
    };
    place.openssl({"genpkey", "-algorithm", "ed25519", "-out", "a.pem"});
    place.openssl({"pkey", "-in", "a.pem", "-pubout", "-out", "a.pub"});
    place.openssl(
        {"req", "-x509", "-key", "a.pem", "-subj", "/CN=lab", "-days", "1", "-out", "a.crt"});
    place.put("b.pub", "no key\n");
    CHECK(told("keys: [a.pub]\n").empty());
    CHECK(told("keys: [a.pub]\nrequire: 2\n") ==
          "policy.yaml:3:10: 'require' is 2, but the policy names 1 signer\n");
    CHECK(told("kees: [a.pub]\n").starts_with("policy.yaml:2:1: unknown field 'kees'\n"));
    CHECK(told("keys: [none.pub, b.pub]\n") == "policy.yaml:2:8: 'none.pub' is not there\n"
                                               "policy.yaml:2:18: " +
                                                   (place.folder.path() / "b.pub").native() +
                                                   " is not a public key to verify with\n");
    CHECK(told("certificates: {roots: [a.crt]}\n").find("policy.yaml:2:24: 'CN=lab' expired on ") ==
          0);
    const std::string pgp(40, 'A');
    CHECK(told("pgp: [" + pgp + "]\n") ==
          "policy.yaml:2:7: no keyring has the PGP key " + pgp + "\n");
}

} // namespace cybele::submission
