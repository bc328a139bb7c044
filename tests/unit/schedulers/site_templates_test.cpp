// SPDX-License-Identifier: Apache-2.0
// A Site's own texts in place of embedded templates.
#include "golden_case.hpp"
#include "schedulers/scripts/render.hpp"
#include "support/file.hpp"

#include <algorithm>

#include <doctest/doctest.h>

namespace cybele::schedulers {
namespace {

constexpr std::string_view kFirst = "{{! cybelectl template set 1 }}\n";

/// A Site file with a folder of templates next to it.
class Centre {
public:
    Centre() {
        REQUIRE(folder_.has_value());
        for (const char* const name : {"texts", "texts/script", "texts/dialect"}) {
            std::filesystem::create_directory(folder_->path() / name);
        }
    }

    void put(const std::string& name, const std::string& text) const {
        REQUIRE(write_file(folder_->path() / "texts" / name, std::string(kFirst) + text));
    }

    [[nodiscard]] Result<launchers::Site> site(const std::string& templates) const {
        return launchers::read_site(
            "kind: Site\nname: hall\nscheduler: slurm\ntemplates: " + templates + "\n",
            folder_->path() / "site.yaml");
    }

    [[nodiscard]] Result<RenderedScript> script(const std::string& dialect = "slurm") const {
        const launchers::Site site = this->site("texts").value();
        const launchers::Job job =
            launchers::read_job("kind: Job\nname: run\ncommand: [hostname]\n", "j.yaml").value();
        RenderInput input;
        input.job = &job;
        input.site = &site;
        input.dialect = dialect;
        return render_script(input);
    }

    [[nodiscard]] std::string path(const char* name) const {
        return (folder_->path() / name).native();
    }

private:
    Result<TempDirectory> folder_ = TempDirectory::make("/tmp", "cybele-templates");
};

bool shows(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("a Site's templates replace those of their names, in scripts for its batch system") {
    const Centre centre;
    const std::string before = centre.script()->text;
    const std::string head =
        read_file(CYBELE_SOURCE_DIR "/schedulers/dialects/slurm.head.mustache").value();
    centre.put("dialect/head.mustache",
               head.substr(head.find('\n') + 1) + "#SBATCH --comment=ours\n");
    const auto after = centre.script();
    REQUIRE(after.has_value());
    CHECK(shows(after->text, "#SBATCH --export=ALL\n#SBATCH --comment=ours\n# From"));
    CHECK_FALSE(shows(before, "--comment=ours"));
    const auto set = [](const std::string& text) {
        return text.substr(text.find(", templates "), 32);
    };
    CHECK(set(before) != set(after->text));
    CHECK_FALSE(shows(centre.script("local")->text, "--comment=ours"));
}

TEST_CASE("a head of a Site that leaves out what the Job asks for is refused") {
    const Centre centre;
    centre.put("dialect/head.mustache", "#SBATCH --job-name={{{name}}}\n");
    const auto script = centre.script();
    REQUIRE_FALSE(script.has_value());
    CHECK(script.error().faults().front().id == "field-dropped-by-template");
}

TEST_CASE("faults of a Site's templates name the file, and the Site's line") {
    const Centre centre;
    CHECK(centre.site("none").error().faults().front().id == "site-templates-unreadable");
    CHECK(centre.site("texts").has_value());
    centre.put("script/setup.mustache", "a\n{{unknown-word}}\n");
    centre.put("script/body.mustache", "a\n{{#open}}\n");
    const auto wrong = centre.script();
    REQUIRE_FALSE(wrong.has_value());
    CHECK(wrong.error().faults().front().where.value().file ==
          centre.path("texts/script/body.mustache"));
    CHECK(wrong.error().faults().front().where.value().line == 3);
    centre.put("script/bodies.mustache", "x\n");
    centre.put("body.mustache", "x\n");
    const auto unknown = centre.script();
    REQUIRE_FALSE(unknown.has_value());
    const auto& faults = unknown.error().faults();
    REQUIRE(faults.size() == 2);
    CHECK(faults[0].id == "site-template-unknown");
    CHECK(faults[0].message == "no template is called 'body'");
    CHECK(faults[1].message == "no template is called 'script/bodies'");
    CHECK(faults[0].where.value().line == 4);
    REQUIRE(
        write_file(centre.path("texts/script/big.mustache"), std::string((1U << 20U) + 1, 'x')));
    CHECK_FALSE(centre.site("texts").has_value());
}

TEST_CASE(
    "a script that starts containers itself is warned of where the Site requires signatures") {
    const auto site = launchers::read_site(
        "kind: Site\nname: hall\nscheduler: slurm\nverify: {keys: [/k.pub]}\n", "site.yaml");
    REQUIRE(site);
    const auto is_warned = [&site](const std::string& fields) {
        const launchers::Job job = job_of("kind: Job\nname: run\n" + fields);
        RenderInput input;
        input.job = &job;
        input.site = &*site;
        input.dialect = "slurm";
        input.image = job.image ? job.image->reference : "";
        const auto rendered = render_script(input);
        REQUIRE(rendered);
        return std::any_of(rendered->notes.begin(), rendered->notes.end(), [](const Fault& note) {
            return note.id == "start-not-verified";
        });
    };
    CHECK(is_warned("command: [/usr/bin/apptainer, exec, a.sif, ls]\n"));
    CHECK(is_warned(
        "launch: batch\nscript: |\n  for i in 1 2; do\n    srun singularity run a.sif\n  done\n"));
    CHECK_FALSE(is_warned("image: a.sif\nlaunch: batch\nscript: \"$CYBELE_CONTAINER ls\"\n"));
    CHECK_FALSE(is_warned("command: [ls]\n"));
}

TEST_CASE("a queue among the directives is refused where the Site gives the job one") {
    const auto site = launchers::read_site(
        "kind: Site\nname: hall\nscheduler: slurm\nqueues: [{name: cpu}, {name: gpu}]\n",
        "site.yaml");
    REQUIRE(site);
    const launchers::Job job =
        job_of("kind: Job\nname: run\ncommand: [ls]\ndirectives: {slurm: [--partition=gpu]}\n");
    RenderInput input;
    input.job = &job;
    input.dialect = "slurm";
    CHECK(render_script(input));
    input.site = &*site;
    const auto rendered = render_script(input);
    REQUIRE_FALSE(rendered);
    CHECK(rendered.error().message().find("`queue`") != std::string::npos);
}

} // namespace cybele::schedulers
