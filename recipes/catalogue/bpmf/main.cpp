// SPDX-License-Identifier: Apache-2.0
// bpmf [--read FILE | --write FILE] [--compounds N] [--proteins N] [--factors N] [--iterations N]
//      [--burn-in N] [--seed N]
// Factorises a matrix of compounds and proteins (its own data, or FILE's); --write only writes the
// data. The last line: error=E hash=H ranks=N seconds=S
#include "ratings.hpp"
#include "sampler.hpp"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include <mpi.h>

namespace {

struct Options {
    bpmf::Size size;
    bpmf::Settings settings;
    std::string read;
    std::string write;
};

bool parse(int argc, char** argv, Options& options) {
    int seed = 1;
    const std::map<std::string, int*> numbers = {
        {"--compounds", &options.size.compounds},
        {"--proteins", &options.size.proteins},
        {"--factors", &options.size.factors},
        {"--iterations", &options.settings.iterations},
        {"--burn-in", &options.settings.burn_in},
        {"--seed", &seed},
    };
    for (int i = 1; i < argc; i += 2) {
        const std::string name = argv[i];
        if (i + 1 == argc) {
            return false;
        }
        if (name == "--read" || name == "--write") {
            (name == "--read" ? options.read : options.write) = argv[i + 1];
            continue;
        }
        const auto number = numbers.find(name);
        char* end = nullptr;
        const long value = std::strtol(argv[i + 1], &end, 10);
        if (number == numbers.end() || *end != '\0' || value < 0 || value > 1000000) {
            return false;
        }
        *number->second = static_cast<int>(value);
    }
    options.settings.factors = options.size.factors;
    options.settings.seed = static_cast<std::uint64_t>(seed);
    return options.size.factors > 0 && options.size.compounds > 0 && options.size.proteins > 0;
}

/// Rank 0 reads or makes the ratings, the others get them from it; false on each rank if it cannot.
bool share_ratings(int rank, const Options& options, std::vector<bpmf::Rating>& ratings) {
    if (rank == 0) {
        if (options.read.empty()) {
            ratings = bpmf::generate(options.size, options.settings.seed);
        } else if (!bpmf::read(options.read, ratings)) {
            std::fprintf(stderr, "bpmf: %s is not a file of ratings\n", options.read.c_str());
            ratings.clear();
        }
    }
    auto count = static_cast<std::uint64_t>(ratings.size());
    MPI_Bcast(&count, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    ratings.resize(count);
    MPI_Bcast(ratings.data(),
              static_cast<int>(count * sizeof(bpmf::Rating)),
              MPI_BYTE,
              0,
              MPI_COMM_WORLD);
    return count > 0;
}

int run(int rank, int ranks, const Options& options) {
    if (!options.write.empty()) {
        const bool is_written =
            rank != 0 ||
            bpmf::write(options.write, bpmf::generate(options.size, options.settings.seed));
        return is_written ? 0 : 1;
    }
    std::vector<bpmf::Rating> ratings;
    if (!share_ratings(rank, options, ratings)) {
        return 1;
    }
    const double begin = MPI_Wtime();
    const bpmf::Outcome outcome = bpmf::factorise(ratings, options.settings);
    if (rank == 0) {
        std::printf("error=%.6f hash=%016" PRIx64 " ranks=%d seconds=%.2f\n",
                    outcome.error,
                    outcome.hash,
                    ranks,
                    MPI_Wtime() - begin);
    }
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    Options options;
    if (!parse(argc, argv, options)) {
        std::fprintf(stderr, "bpmf: wrong arguments; options require an integer or a file\n");
        return 2;
    }
    MPI_Init(&argc, &argv);
    int rank = 0;
    int ranks = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int code = run(rank, ranks, options);
    MPI_Finalize();
    return code;
}
