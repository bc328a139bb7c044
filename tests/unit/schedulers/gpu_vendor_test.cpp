// SPDX-License-Identifier: Apache-2.0
// Whose GPUs a job gets: the image's label and the Site's queue say it, one of them, or neither.
#include "bench.hpp"
#include "support/message.hpp"

#include <algorithm>
#include <array>

#include <doctest/doctest.h>

namespace cybele::schedulers {
namespace {

bool has_part(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

struct VendorRow {
    const char* label;  ///< of the image; empty: none
    const char* queue;  ///< fields of the Site's queue
    const char* option; ///< of the runtime in the script
};

Result<RenderedScript>
render_on(const launchers::Site& site, const std::string& label, const std::string& fields = "") {
    const launchers::Job job =
        job_of("kind: Job\nname: run\nimage: a.sif\ncommand: [x]\nresources: {gpus-per-node: 1}\n" +
               fields);
    images::ImageFacts facts;
    if (!label.empty()) {
        facts.labels["cybelectl.gpu"] = label;
    }
    RenderInput input;
    input.job = &job;
    input.site = &site;
    input.facts = &facts;
    input.dialect = "slurm";
    input.image = "a.sif";
    return render_script(input);
}

launchers::Site site_of_queues(const std::string& queues) {
    return launchers::read_site(
               "kind: Site\nname: hall\nscheduler: slurm\nqueues: [" + queues + "]\n", "s.yaml")
        .value();
}

launchers::Site site_with(const std::string& fields) {
    return site_of_queues("{name: gpu, gpus-per-node: 4" + fields + "}");
}

} // namespace

TEST_CASE("the vendor of a queue's GPUs counts for images that do not say one") {
    constexpr std::array kRows{VendorRow{"", "", "--nv"},
                               VendorRow{"", ", gpu-vendor: nvidia", "--nv"},
                               VendorRow{"", ", gpu-vendor: amd", "--rocm"},
                               VendorRow{"", ", gpu-vendor: intel", ""},
                               VendorRow{"rocm 6.2", "", "--rocm"},
                               VendorRow{"rocm 6.2", ", gpu-vendor: amd", "--rocm"},
                               VendorRow{"cuda 12.4", ", gpu-vendor: nvidia", "--nv"}};
    for (const auto& row : kRows) {
        CAPTURE(row.label);
        CAPTURE(row.queue);
        const auto script = render_on(site_with(row.queue), row.label);
        REQUIRE(script.has_value());
        for (const char* option : {"--nv", "--rocm"}) {
            CHECK(has_part(script->text, std::string("options=(") + option) ==
                  (std::string_view(row.option) == option));
        }
    }
}

TEST_CASE("one `--gres` has the GPUs and all else: a directive adds none next to them") {
    for (const char* form : {"", ", gpu-form: gres"}) {
        const bool is_gres = *form != '\0';
        const auto site = site_with(form);
        const auto refusal = [&](const std::string& word) {
            const auto script = render_on(site, "", "directives: {slurm: ['" + word + "']}\n");
            return script ? std::string() : script.error().faults().front().message;
        };
        CAPTURE(form);
        for (const char* other :
             {"--switches=1", "--licenses=a", "--hint=nomultithread", "--reboot"}) {
            CHECK(refusal(other) == "");
        }
        CHECK(refusal("--gres=lscratch:1") ==
              (is_gres ? "`--gres` is already given by `resources.gpus-per-node`" : ""));
        for (const char* gpus : {"--gres=gpu:1", "--gres=lscratch:1,gpu:1"}) {
            CHECK(refusal(gpus) == "`--gres` is already given by `resources.gpus-per-node`");
        }
    }
}

TEST_CASE("`--gres` has the GPUs where the queue has that form, and what else is asked for") {
    const auto site = site_with(", gpu-form: gres");
    for (const unsigned gpus : {0U, 2U}) {
        for (const unsigned scratch : {0U, 3U}) {
            CAPTURE(gpus);
            CAPTURE(scratch);
            auto job = job_of("kind: Job\nname: run\nimage: a.sif\ncommand: [x]\n");
            job.resources.gpus_per_node = gpus;
            if (scratch > 0) {
                job.resources.gres["lscratch"] = scratch;
            }
            RenderInput input;
            input.job = &job;
            input.site = &site;
            input.dialect = "slurm";
            input.image = "a.sif";
            const auto script = render_script(input);
            REQUIRE(script);
            const std::string& text = script->text;
            const auto begin = text.find("#SBATCH --gres=");
            REQUIRE((begin != text.npos) == (gpus + scratch > 0));
            const std::string line =
                begin == text.npos ? "" : text.substr(begin, text.find('\n', begin) - begin);
            CHECK(has_part(line, "gpu:2") == (gpus > 0));
            CHECK(has_part(line, "gpu:0") == false);
            CHECK(has_part(line, "lscratch:3") == (scratch > 0));
            CHECK(has_part(line, ",") == (gpus > 0 && scratch > 0));
        }
    }
}

TEST_CASE("type and form of the GPUs are those of the queue, where the Job does not say them") {
    CHECK(has_part(render_on(site_with(", gpu-type: a100"), "")->text, "--gpus-per-node=a100:"));
    CHECK(has_part(render_on(site_with(", gpu-type: a100, gpu-form: gres"), "")->text,
                   "--gres=gpu:a100:"));
    CHECK(has_part(render_on(site_with(", gpu-form: gres"), "")->text, "--gres=gpu:"));
    const auto job = [](const std::string& gpus) {
        return launchers::read_job("kind: Job\nname: a\nimage: a.sif\ncommand: [b]\n"
                                   "resources: {gpus-per-node: {count: 2, " +
                                       gpus + "}}\n",
                                   "j.yaml")
            .value();
    };
    const auto site = site_with(", gpu-type: a100, gpu-form: gres");
    RenderInput input;
    input.site = &site;
    input.dialect = "slurm";
    input.image = "a.sif";
    const auto own_form = job("form: gpus-per-node");
    input.job = &own_form;
    CHECK(has_part(render_script(input)->text, "--gpus-per-node=a100:2"));
    const auto other_type = job("type: v100");
    input.job = &other_type;
    const auto refused = render_script(input);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().faults()[0].message == "queue 'gpu' has no GPUs of type 'v100'");
}

TEST_CASE("a queue may want GPUs to be requested per task, which needs an even share") {
    const auto site = site_with(", gpu-type: a100, gpu-form: gpus-per-task");
    const auto rendered = [&site](const std::string& resources) {
        const auto job = launchers::read_job("kind: Job\nname: a\nimage: a.sif\ncommand: [b]\n"
                                             "launch: mpi\nresources: {" +
                                                 resources + "}\n",
                                             "j.yaml")
                             .value();
        RenderInput input;
        input.job = &job;
        input.site = &site;
        input.dialect = "slurm";
        input.image = "a.sif";
        return render_script(input);
    };
    const std::pair<const char*, const char*> rows[] = {
        {"gpus-per-node: 4, tasks-per-node: 4", "--gpus-per-task=a100:1\n"},
        {"gpus-per-node: 4, tasks-per-node: 2, nodes: 2", "--gpus-per-task=a100:2\n"},
        {"gpus-per-node: {count: 3, form: gpus-per-node}, tasks-per-node: 2",
         "--gpus-per-node=a100:3\n"}};
    for (const auto& [resources, option] : rows) {
        CAPTURE(resources);
        const auto script = rendered(resources);
        REQUIRE_MESSAGE(script.has_value(), format_text(script.error().faults()));
        CHECK(has_part(script->text, option));
        CHECK(has_part(script->text, "#SBATCH --gpus-per-node") ==
              (std::string_view(option).find("per-node") != std::string_view::npos));
    }
    for (const char* const uneven : {"gpus-per-node: 3, tasks-per-node: 2",
                                     "gpus-per-node: 2, tasks-per-node: 2, nodes: 2, tasks: 3"}) {
        CAPTURE(uneven);
        const auto refused = rendered(uneven);
        REQUIRE_FALSE(refused.has_value());
        CHECK(refused.error().faults().back().id == "queue-gpus-per-task-uneven");
    }
}

TEST_CASE(
    "OpenPBS sets no variable of the GPUs by itself, which is a note there and nowhere else") {
    const auto job = launchers::read_job("kind: Job\nname: a\nimage: a.sif\ncommand: [b]\n"
                                         "resources: {gpus-per-node: 3}\n",
                                         "j.yaml")
                         .value();
    for (const std::string dialect : {"slurm", "torque", "pbspro", "local"}) {
        CAPTURE(dialect);
        RenderInput input;
        input.job = &job;
        input.dialect = dialect;
        input.image = "a.sif";
        const auto script = render_script(input);
        REQUIRE(script.has_value());
        const auto count =
            std::count_if(script->notes.begin(), script->notes.end(), [](const Fault& note) {
                return has_part(note.message, "PBS sets CUDA_VISIBLE_DEVICES only where") &&
                       note.where.has_value() && note.where->line == 5 && note.is_warning;
            });
        CHECK(count == (dialect == "pbspro" ? 1 : 0));
    }
}

TEST_CASE("an image for GPUs of another vendor than the queue's is refused") {
    const auto script = render_on(site_with(", gpu-vendor: amd"), "cuda 12.4");
    REQUIRE(!script.has_value());
    const std::string message = script.error().faults()[0].message;
    CHECK(has_part(message, "the image is made for cuda, and queue 'gpu' has GPUs of amd"));
    CHECK(script.error().faults()[0].help ==
          "build the image with `gpu: rocm`, or choose a queue with GPUs of nvidia");
}

TEST_CASE(
    "a queue without GPUs: the refusal names the site's queue that has enough, if there is one") {
    const auto help_of = [](const std::string& queues) {
        const auto script = render_on(site_of_queues(queues), "", "queue: cpu\n");
        REQUIRE(!script.has_value());
        REQUIRE(script.error().faults().size() == 1);
        return script.error().faults()[0].help;
    };
    CHECK(help_of("{name: cpu}, {name: big, nodes: 4}, {name: gpu, gpus-per-node: 1}") ==
          "write `queue: gpu`");
    CHECK(help_of("{name: cpu}, {name: big, nodes: 4}") ==
          "remove `gpus-per-node`: no queue of the site has them");
}

} // namespace cybele::schedulers
