// SPDX-License-Identifier: Apache-2.0
#include "bridge/service/metrics.hpp"
#include "support/file.hpp"

#include <regex>

#include <doctest/doctest.h>

using namespace cybele;

TEST_CASE("metrics: a head and a value per line, and no phase that somebody else invented") {
    bridge::Metrics metrics;
    metrics.add_object("Running");
    metrics.add_object("Running");
    metrics.add_object("");
    metrics.add_object("x\"} 1\nforged 2");
    metrics.jobs_without_object = 3;
    metrics.is_queue_answered = true;
    metrics.answer_seconds = 0.25;
    const std::string text = bridge::metrics_text(metrics);
    CHECK(text.find("# TYPE cybelectl_bridge_objects gauge\n"
                    "cybelectl_bridge_objects{phase=\"New\"} 1\n"
                    "cybelectl_bridge_objects{phase=\"Running\"} 2\n"
                    "cybelectl_bridge_objects{phase=\"Unknown\"} 1\n") != std::string::npos);
    CHECK(text.find("\ncybelectl_bridge_jobs_without_object 3\n") != std::string::npos);
    CHECK(text.find("\ncybelectl_bridge_queue_answered 1\n") != std::string::npos);
    CHECK(text.find("\ncybelectl_bridge_queue_answer_seconds 0.25\n") != std::string::npos);
    CHECK(text.find("forged") == std::string::npos);
    CHECK(text.ends_with("\n"));
}

TEST_CASE("the alerts of the page for operators name metrics that exist") {
    const std::string text = bridge::metrics_text({});
    const std::string page =
        read_file(CYBELE_SOURCE_DIR "/docs/reference/bridge-operations.md").value();
    const std::regex name("cybelectl_bridge_[a-z_]+");
    std::size_t count = 0;
    for (auto at = std::sregex_iterator(page.begin(), page.end(), name);
         at != std::sregex_iterator();
         ++at, ++count) {
        CAPTURE(at->str());
        CHECK(text.find("# TYPE " + at->str() + " ") != std::string::npos);
    }
    CHECK(count >= 10);
}
