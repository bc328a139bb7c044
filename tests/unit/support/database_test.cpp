// SPDX-License-Identifier: Apache-2.0
#include "support/database.hpp"
#include "support/file.hpp"

#include <chrono>
#include <filesystem>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

namespace cybele {
namespace {

constexpr DatabaseUse kPatientUse{"the test's database", "", "", ""};
constexpr DatabaseUse kImpatientUse{"the test's database", "", "", "", 150};

Result<void> add_one(const std::filesystem::path& path) {
    CYBELE_TRY(const Database database, Database::open(path, Database::Mode::kWrite, kPatientUse));
    CYBELE_TRY(auto transaction, Transaction::begin(database));
    CYBELE_CHECK(database.run("UPDATE counter SET value = value + 1"));
    return transaction.commit();
}

} // namespace

TEST_CASE("clients of a database wait for each other, and each gets its turn") {
    const auto folder = TempDirectory::make("/tmp", "cybele-database");
    REQUIRE(folder.has_value());
    const auto path = folder->path() / "counter.db";
    const auto database = Database::open(path, Database::Mode::kWrite, kPatientUse);
    REQUIRE(database.has_value());
    REQUIRE(database->run("CREATE TABLE counter(value); INSERT INTO counter VALUES(0)"));
    constexpr int kClients = 12;
    constexpr int kTurns = 10;
    std::vector<int> done(kClients);
    std::vector<std::thread> clients;
    for (int& turns : done) {
        clients.emplace_back([&path, &turns] {
            while (turns < kTurns && add_one(path)) {
                ++turns;
            }
        });
    }
    for (std::thread& client : clients) {
        client.join();
    }
    CHECK(done == std::vector<int>(kClients, kTurns));
    auto statement = database->prepare("SELECT value FROM counter");
    REQUIRE(statement.has_value());
    REQUIRE(statement->step().value());
    CHECK(statement->number(0) == kClients * kTurns);
}

TEST_CASE("a database that another one keeps locked is waited for as long as its user says") {
    const auto folder = TempDirectory::make("/tmp", "cybele-database");
    REQUIRE(folder.has_value());
    const auto path = folder->path() / "held.db";
    const auto holder = Database::open(path, Database::Mode::kWrite, kPatientUse);
    REQUIRE(holder.has_value());
    const auto held = Transaction::begin(*holder);
    REQUIRE(held.has_value());
    const auto other = Database::open(path, Database::Mode::kWrite, kImpatientUse);
    REQUIRE(other.has_value());
    const auto begin = std::chrono::steady_clock::now();
    const auto refused = Transaction::begin(*other);
    REQUIRE_FALSE(refused.has_value());
    CHECK(std::chrono::steady_clock::now() - begin >= std::chrono::milliseconds(150));
    CHECK(refused.error().faults().front().because == "other processes keep it locked");
}

} // namespace cybele
