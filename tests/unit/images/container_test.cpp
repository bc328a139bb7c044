// SPDX-License-Identifier: Apache-2.0
#include "images/container/container.hpp"
#include "images/container/metadata.hpp"
#include "images/inspection/container_architecture.hpp"
#include "images/inspection/facts.hpp"
#include "images/inspection/inspect.hpp"
#include "images/inspection/inspect_json.hpp"
#include "images/inspection/sources.hpp"
#include "images/squashfs/squashfs.hpp"
#include "support/file.hpp"
#include "support/process.hpp"
#include "tree_sample.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

namespace fs = std::filesystem;
using namespace cybele;
using namespace cybele::images;

namespace {

constexpr std::int64_t kTime = 1795252990;

NewContainer make_root(const fs::path& root) {
    fs::create_directories(root / "bin");
    fs::copy_file("/bin/true", root / "bin/sh");
    Metadata metadata;
    metadata.definition = "Bootstrap: scratch\n\n%runscript\n    echo <hello>\n";
    metadata.runscript = "    echo <hello>\n";
    metadata.environment = "export A=1";
    metadata.help = "Say & do\n\n";
    metadata.labels = {{"cybelectl.mpi", "openmpi 4.1.4"},
                       {"cybelectl.pmi", "pmix 4.2.2"},
                       {"cybelectl.libc", "glibc 2.36"},
                       {"cybelectl.mpi-probe", "/opt/probe"}};
    metadata.build_time = kTime;
    REQUIRE(write_metadata(root, metadata));
    NewContainer container;
    container.root = root;
    container.definition = metadata.definition;
    container.build_time = kTime;
    return container;
}

Image opened_container(const fs::path& path) {
    auto image = Image::open(path);
    REQUIRE_MESSAGE(image, image.error().message());
    return std::move(*image);
}

} // namespace

TEST_CASE("a container has Apptainer's objects in its order") {
    const auto dir = scratch();
    const auto container = make_root(dir.path() / "root");
    const auto path = dir.path() / "image.sif";
    REQUIRE(write_container(path, container));
    const auto image = opened_container(path);
    const auto& objects = image.descriptors();
    REQUIRE(objects.size() == 3);
    CHECK(objects[0].type == DataType::kDefinition);
    CHECK(objects[0].name.empty());
    CHECK(*image.read_object(objects[0]) == container.definition);
    CHECK(objects[1].type == DataType::kGenericJson);
    CHECK(objects[1].name == "inspect-metadata.json");
    CHECK(objects[2].type == DataType::kPartition);
    CHECK(objects[2].part_type() == PartType::kPrimary);
    CHECK(objects[2].fs_type() == FsType::kSquashfs);
    CHECK(objects[2].offset % 4096 == 0);
    CHECK(objects[2].size % 4096 == 0);
    CHECK(objects[2].arch() == host_architecture());
    CHECK(image.header().arch == host_architecture());
    CHECK(image.header().created == kTime);
    CHECK(image.header().launch_script == "#!/usr/bin/env run-singularity\n");
    CHECK((image.header().id[6] >> 4U) == 4);
    for (const auto& object : objects) {
        CHECK(object.group == 1);
        CHECK(object.modified == kTime);
    }
    Command list;
    list.argv = {"unsquashfs", "-o", std::to_string(objects[2].offset), "-l", path.string()};
    const auto listed = run_process(list);
    REQUIRE(listed);
    CHECK(listed->output.find("squashfs-root/.singularity.d/runscript\n") != std::string::npos);
}

TEST_CASE("inspect and facts are read without opening the file system") {
    const auto dir = scratch();
    REQUIRE(write_container(dir.path() / "image.sif", make_root(dir.path() / "root")));
    const auto image = opened_container(dir.path() / "image.sif");
    const auto inspection = inspect_image(image);
    REQUIRE(inspection);
    CHECK(inspection->runscript == "#!/bin/sh\n\n    echo <hello>");
    CHECK(inspection->help == "Say & do");
    CHECK(inspection->test.empty());
    CHECK(inspection->definition.ends_with("echo <hello>\n"));
    REQUIRE(inspection->environment.size() == 1);
    CHECK(inspection->environment.begin()->first == "/.singularity.d/env/90-environment.sh");
    CHECK(inspection->environment.begin()->second.ends_with("\nexport A=1"));
    const auto facts = read_facts(image);
    REQUIRE(facts);
    CHECK(facts->mpi == "openmpi 4.1.4");
    CHECK(facts->pmi == "pmix 4.2.2");
    CHECK(facts->libc == "glibc 2.36");
    CHECK(facts->mpi_probe == "/opt/probe");
    CHECK(facts->architecture == host_architecture());
    CHECK(facts->labels.at("org.label-schema.schema-version") == "1.0");
}

TEST_CASE("an image without the metadata object is inspected through its files") {
    const auto dir = scratch();
    const auto container = make_root(dir.path() / "root");
    for (const auto* compression : {"zstd", "gzip"}) {
        NewImage bare;
        NewObject partition;
        partition.type = DataType::kPartition;
        partition.extra = partition_extra(FsType::kSquashfs, PartType::kPrimary, "amd64");
        partition.alignment = 4096;
        partition.write = [&](int fd, std::uint64_t offset) {
            PackOptions pack;
            pack.compression = compression;
            return write_squashfs(container.root, fd, offset, pack);
        };
        bare.objects.push_back(partition);
        const auto path = dir.path() / compression;
        REQUIRE(write_image(path, bare));
        const auto inspection = inspect_image(opened_container(path));
        REQUIRE(inspection);
        CHECK(inspection->runscript == "#!/bin/sh\n\n    echo <hello>\n\n");
        CHECK(inspection->definition == container.definition);
        CHECK(inspection->environment.size() == 1);
        CHECK(read_facts(opened_container(path))->mpi == "openmpi 4.1.4");
        // Cut or overwritten in the middle: an error or nothing, never a crash.
        const auto whole = read_file(path).value();
        for (std::size_t at = 40960; at < whole.size(); at += whole.size() / 61) {
            auto damaged = whole;
            damaged.replace(at, std::min<std::size_t>(200, whole.size() - at), 200, '\xA5');
            REQUIRE(write_file(dir.path() / "damaged", damaged));
            const auto image = Image::open(dir.path() / "damaged");
            if (image) {
                static_cast<void>(inspect_image(*image));
            }
        }
    }
}

TEST_CASE("a deterministic container has the same bytes each time") {
    const auto dir = scratch();
    auto container = make_root(dir.path() / "root");
    container.is_deterministic = true;
    REQUIRE(write_container(dir.path() / "a.sif", container));
    fs::copy(dir.path() / "root",
             dir.path() / "copy",
             fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    container.root = dir.path() / "copy";
    container.build_time = kTime;
    REQUIRE(write_container(dir.path() / "b.sif", container));
    const auto first = read_file(dir.path() / "a.sif").value();
    CHECK(first == read_file(dir.path() / "b.sif").value());
    CHECK(opened_container(dir.path() / "a.sif").header().created == -62135596800);
    container.is_deterministic = false;
    REQUIRE(write_container(dir.path() / "c.sif", container));
    CHECK(first != read_file(dir.path() / "c.sif").value());
}

TEST_CASE("what an image was made from is an object of its own behind the others") {
    const auto dir = scratch();
    auto container = make_root(dir.path() / "root");
    REQUIRE(write_container(dir.path() / "without.sif", container));
    container.sources = "{\"format\":1}\n";
    REQUIRE(write_container(dir.path() / "with.sif", container));
    const auto without = opened_container(dir.path() / "without.sif");
    const auto with = opened_container(dir.path() / "with.sif");
    CHECK_FALSE(read_sources(without).value().has_value());
    CHECK(read_sources(with).value() == container.sources);
    CHECK(with.descriptors().size() == without.descriptors().size() + 1);
    CHECK(with.descriptors().back().name == "cybelectl-sources.json");
    CHECK(with.descriptors().back().group == with.descriptors().front().group); // so it is signed
}

TEST_CASE("a container that cannot be packed leaves no file") {
    const auto dir = scratch();
    auto container = make_root(dir.path() / "root");
    container.pack.compression = "brotli";
    CHECK_FALSE(write_container(dir.path() / "out/image.sif", container));
    fs::create_directory(dir.path() / "out");
    CHECK_FALSE(write_container(dir.path() / "out/image.sif", container));
    CHECK(fs::is_empty(dir.path() / "out"));
}

TEST_CASE("the architecture is read from programs") {
    const auto elf = [](char width, char order, std::string_view machine) {
        return std::string("\x7f"
                           "ELF") +
               width + order + std::string(12, '\0') + std::string(machine);
    };
    using namespace std::string_view_literals;
    CHECK(elf_architecture(elf(2, 1, "\x3e\0"sv)) == "amd64");
    CHECK(elf_architecture(elf(2, 1, "\xb7\0"sv)) == "arm64");
    CHECK(elf_architecture(elf(2, 1, "\xf3\0"sv)) == "riscv64");
    CHECK(elf_architecture(elf(2, 2, "\0\x16"sv)) == "s390x");
    CHECK(elf_architecture(elf(2, 2, "\0\x15"sv)) == "ppc64");
    CHECK(elf_architecture(elf(2, 1, "\x15\0"sv)) == "ppc64le");
    CHECK(elf_architecture(elf(1, 1, "\x3e\0"sv)).empty()); // x32
    CHECK(elf_architecture("#!/bin/sh and what follows").empty());
    CHECK(elf_architecture("").empty());
    const auto dir = scratch();
    std::ofstream(dir.path() / "sh") << elf(2, 1, "\xb7\0"sv);
    fs::create_directories(dir.path() / "usr/bin");
    fs::rename(dir.path() / "sh", dir.path() / "usr/bin/zz");
    std::ofstream(dir.path() / "usr/bin/aa") << "#!/bin/sh\n";
    CHECK(root_architecture(*RootDirectory::open(dir.path())) == "arm64");
}
