// SPDX-License-Identifier: Apache-2.0
#include "submission/journal/array.hpp"
#include "submission/journal/recorded.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace cybele;
using submission::State;

namespace {

std::vector<submission::Element> elements_of(submission::Entry& entry,
                                             std::initializer_list<State> states) {
    std::vector<submission::Element> elements;
    submission::add_elements(entry, 0, elements);
    REQUIRE(elements.size() == states.size());
    auto element = elements.begin();
    for (const State state : states) {
        element->entry.state = state;
        element->entry.code = state == State::kDone ? 0 : 40 + (element - elements.begin());
        element->entry.ended = submission::is_over(state) ? 100 + (element - elements.begin()) : 0;
        ++element;
    }
    return elements;
}

} // namespace

TEST_CASE("the indices of an array") {
    using Indices = std::vector<std::uint32_t>;
    CHECK(submission::array_indices("0-3") == Indices{0, 1, 2, 3});
    CHECK(submission::array_indices("0-9:3%2") == Indices{0, 3, 6, 9});
    CHECK(submission::array_indices("1,4,7%1") == Indices{1, 4, 7});
    CHECK(submission::array_indices("5") == Indices{5});
    CHECK(submission::array_indices("1-2,5") == Indices{1, 2, 5});
}

TEST_CASE("a description that another user wrote is read as one of ours, or refused") {
    const nlohmann::json good{{"uuid", "0a-1b"},
                              {"name", "demo"},
                              {"scheduler", "slurm"},
                              {"document", "/d/job.yaml"},
                              {"array", "0-9:3%2"},
                              {"further", 1}};
    const auto entry = submission::read_recorded(good, "job.json");
    REQUIRE(entry.has_value());
    CHECK(entry->uuid == "0a-1b");
    CHECK(entry->job == "/d/job.yaml");
    CHECK(entry->array == "0-9:3%2");
    CHECK(entry->folder.empty());
    for (const char* change : {R"({"array": "0-2147483646"})",
                               R"({"array": "0-999999999"})",
                               R"({"array": "9-0"})",
                               R"({"array": "x"})",
                               R"({"array": 3})",
                               R"({"uuid": ""})",
                               R"({"name": null})",
                               R"({"name": 1})",
                               R"({"document": []})",
                               R"({"scheduler": null})"}) {
        CAPTURE(change);
        nlohmann::json bad = good;
        bad.merge_patch(nlohmann::json::parse(change));
        const auto refused = submission::read_recorded(bad, "job.json");
        REQUIRE_FALSE(refused.has_value());
        CHECK(refused.error().code() == ErrorCode::kInput);
    }
    CHECK_FALSE(submission::read_recorded(nlohmann::json::array(), "job.json").has_value());
    // What a service lists is not checked before.
    CHECK(submission::array_indices("0-2147483646").size() == 1'000'000);
}

TEST_CASE("the id of an element, as each scheduler writes it") {
    CHECK(submission::element_id("12", 3) == "12_3");
    CHECK(submission::element_id("12[].head", 3) == "12[3].head");
    CHECK(submission::element_id("12[]", 3) == "12[3]");
}

TEST_CASE("an array ends when all its elements have, as the first that did not end well") {
    submission::Entry entry;
    entry.id = "12";
    entry.array = "0-2";
    entry.record = "/r";
    auto elements = elements_of(entry, {State::kDone, State::kFailed, State::kPending});
    CHECK(elements[1].entry.record == "/r/1");
    submission::fold_elements(elements, 0, entry);
    CHECK(entry.state == State::kPending);
    CHECK(entry.ended == 0);
    elements = elements_of(entry, {State::kDone, State::kRunning, State::kPending});
    submission::fold_elements(elements, 0, entry);
    CHECK(entry.state == State::kRunning);
    elements = elements_of(entry, {State::kDone, State::kFailed, State::kTimeout});
    submission::fold_elements(elements, 0, entry);
    CHECK(entry.state == State::kFailed);
    CHECK(entry.ended == 102);
    CHECK(entry.shell_code() == 41);
    elements = elements_of(entry, {State::kDone, State::kDone, State::kDone});
    submission::fold_elements(elements, 0, entry);
    CHECK(entry.shell_code() == 0);
}

TEST_CASE("a job that is no array is its only element") {
    submission::Entry entry;
    entry.id = "12";
    std::vector<submission::Element> elements;
    submission::add_elements(entry, 4, elements);
    REQUIRE(elements.size() == 1);
    CHECK(elements[0].entry.id == "12");
    elements[0].entry.state = State::kHeld;
    submission::fold_elements(elements, 3, entry);
    CHECK(entry.state == State::kSubmitting);
    submission::fold_elements(elements, 4, entry);
    CHECK(entry.state == State::kHeld);
}

TEST_CASE("indices are written as a Job writes them") {
    CHECK(submission::array_text({}).empty());
    CHECK(submission::array_text({7}) == "7");
    CHECK(submission::array_text({0, 1, 2, 3}) == "0-3");
    CHECK(submission::array_text({0, 2, 3, 4, 9}) == "0,2-4,9");
}

TEST_CASE("what is known of the elements is kept with their array, and read again") {
    submission::Entry entry;
    entry.id = "12";
    entry.array = "4-6";
    auto elements = elements_of(entry, {State::kDone, State::kFailed, State::kPending});
    elements[1].entry.node = "n1,n2";
    elements[1].entry.reason = "a \"reason\"";
    submission::fold_elements(elements, 0, entry);
    const auto kept = submission::elements_of(entry);
    REQUIRE(kept.size() == 3);
    CHECK(kept[0].state == State::kDone);
    CHECK(kept[1].index == 5);
    CHECK(kept[1].id == "12_5");
    CHECK(kept[1].is_element);
    CHECK(kept[1].shell_code() == 41);
    CHECK(kept[1].ended == 101);
    CHECK(kept[1].node == "n1,n2");
    CHECK(kept[1].reason == "a \"reason\"");
    CHECK(kept[2].state == State::kPending);
    CHECK(submission::failures_of(kept).text() == "1 of 3 elements failed, index 5");
    std::vector<submission::Element> again;
    submission::add_elements(entry, 0, again);
    CHECK(again[1].entry.ended == 101);
    CHECK(again[2].entry.ended == 0);
    for (const char* damaged : {"", "{}", "[1]", "[[5]]", "[[5,1,2,3,4,5,6,7,8]]", "[["}) {
        CAPTURE(damaged);
        entry.elements = damaged;
        CHECK(submission::elements_of(entry)[1].ended == 0);
    }
    entry.ended = 200; // nothing was kept of how they ended
    CHECK(submission::elements_of(entry)[1].state == State::kLost);
}

TEST_CASE(
    "the end of one element is put into its array, and taken by who holds the array already") {
    const auto journal = submission::Journal::in_memory();
    REQUIRE(journal.has_value());
    submission::Entry held;
    held.uuid = "aaaaaaaa-1";
    held.scheduler = "torque";
    held.id = "68[].head";
    held.array = "4-6";
    auto elements = elements_of(held, {State::kDone, State::kRunning, State::kRunning});
    submission::fold_elements(elements, 0, held);
    REQUIRE(journal->put(held).has_value());
    submission::Entry element = submission::find_job(*journal, "68[5].head").value();
    element.state = State::kCancelled;
    element.ended = 300;
    const auto take = [&element](submission::Entry& job) {
        submission::take_element(element, job);
    };
    REQUIRE(journal->change("bbbbbbbb-2", take).has_value()); // no such job: nothing
    REQUIRE(journal->change(held.uuid, take).has_value());
    const submission::Entry kept = journal->find(held.uuid).value();
    CHECK(submission::find_job(*journal, "68[5].head")->state == State::kCancelled);
    CHECK(submission::find_job(*journal, "68[4].head")->state == State::kDone);
    CHECK(submission::find_job(*journal, "68[6].head")->state == State::kRunning);
    CHECK(kept.state == State::kRunning);
    elements[2].owner = 3; // of another array
    submission::take_known_ends(kept, 0, elements);
    CHECK(elements[0].entry.ended == 100);
    CHECK(elements[1].entry.state == State::kCancelled);
    CHECK(elements[1].entry.ended == 300);
    CHECK(elements[2].entry.ended == 0);
}

TEST_CASE("an element is found by each of its names, and by no other") {
    const auto journal = submission::Journal::in_memory();
    REQUIRE(journal.has_value());
    const auto put =
        [&journal](const char* uuid, const char* scheduler, const char* id, const char* array) {
            submission::Entry entry;
            entry.uuid = uuid;
            entry.scheduler = scheduler;
            entry.id = id;
            entry.array = array;
            REQUIRE(journal->put(entry).has_value());
        };
    put("aaaaaaaa-1", "torque", "68[].head", "2-4");
    put("bbbbbbbb-2", "slurm", "43", "0-1");
    put("cccccccc-3", "local", "7", "0-1");
    put("dddddddd-4", "slurm", "7", "0-1");
    put("eeeeeeee-5", "slurm", "9", "");
    for (const char* name : {"68[2].head", "68[2]", "68_2", "torque:68[2].head", "aaaaaaaa-1_2"}) {
        CAPTURE(name);
        const auto found = submission::find_job(*journal, name);
        REQUIRE(found.has_value());
        CHECK(found->id == "68[2].head");
        CHECK(found->index == 2);
    }
    for (const char* name : {"local:7_1", "local:7[1]"}) {
        CHECK(submission::find_job(*journal, name)->uuid == "cccccccc-3");
    }
    CHECK(submission::find_job(*journal, "43[1]")->id == "43_1");
    const std::pair<const char*, const char*> wrong[] = {
        {"68[9].head", "job 68[].head has no element 9"},
        {"68[2].other", "there is no job '68[2].other'"},
        {"slurm:68[2].head", "there is no job 'slurm:68[2].head'"},
        {"43_2", "job 43 has no element 2"},
        {"9_1", "job 9 has no element 1"},
        {"7_1", "'7' names 2 jobs"},
        {"7[1]", "'7' names 2 jobs"},
        {"43[2]", "job 43 has no element 2"},
        {"43[1].head", "there is no job '43[1].head'"},
        {"43_", "there is no job '43_'"},
        {"43_-1", "job 43 has no element -1"},
        {"43_99999999999", "there is no job '43_99999999999'"},
        {"_1", "there is no job '_1'"}};
    for (const auto& [name, message] : wrong) {
        CAPTURE(name);
        const auto found = submission::find_job(*journal, name);
        REQUIRE_FALSE(found.has_value());
        CHECK(found.error().faults().front().message == message);
        CHECK_FALSE(found.error().faults().front().help.empty());
    }
}
