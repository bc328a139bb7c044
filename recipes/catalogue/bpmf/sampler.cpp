// SPDX-License-Identifier: Apache-2.0
#include "sampler.hpp"

#include "stream.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cstring>

#include <mpi.h>

namespace bpmf {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

/// Prior: mean 0 with the weight of kBeta rows, precision the unit matrix.
constexpr double kBeta = 2;
constexpr double kPrecision = 1 / (kNoise * kNoise);

struct Entry {
    int other = 0;
    double value = 0;
};

/// Compounds or proteins: a column of factors each, and the ratings that each learns from.
struct Side {
    std::uint64_t number = 0;
    MatrixXd factors;
    std::vector<std::vector<Entry>> entries;
};

struct Hyper {
    VectorXd mean;
    MatrixXd precision;
};

/// The first item of a rank's block of `count` items.
int first_of(int rank, int ranks, int count) {
    return static_cast<int>(static_cast<std::int64_t>(count) * rank / ranks);
}

VectorXd normals(Stream& stream, Eigen::Index count) {
    VectorXd values(count);
    for (Eigen::Index i = 0; i < count; ++i) {
        values[i] = stream.normal();
    }
    return values;
}

/// Normal with this mean and precision, whose Cholesky factor is given.
VectorXd draw(const VectorXd& mean, const Eigen::LLT<MatrixXd>& precision, Stream& stream) {
    return mean + precision.matrixU().solve(normals(stream, mean.size()));
}

/// Mean and precision of the rows, from their normal-Wishart posterior (the Wishart variate by
/// its triangular factors).
Hyper draw_hyper(const Side& side, Stream stream) {
    const Eigen::Index k = side.factors.rows();
    const auto rows = static_cast<double>(side.factors.cols());
    const VectorXd mean = side.factors.rowwise().mean();
    const MatrixXd centred = side.factors.colwise() - mean;
    const MatrixXd inverse_scale = MatrixXd::Identity(k, k) + centred * centred.transpose() +
                                   kBeta * rows / (kBeta + rows) * mean * mean.transpose();
    const MatrixXd root =
        MatrixXd(inverse_scale.llt().solve(MatrixXd::Identity(k, k))).llt().matrixL();
    MatrixXd triangle = MatrixXd::Zero(k, k);
    for (Eigen::Index i = 0; i < k; ++i) {
        triangle(i, i) = std::sqrt(stream.chi_squared(static_cast<double>(k - i) + rows));
        for (Eigen::Index j = 0; j < i; ++j) {
            triangle(i, j) = stream.normal();
        }
    }
    const MatrixXd factor = root * triangle;
    Hyper hyper;
    hyper.precision = factor * factor.transpose();
    const VectorXd centre = rows / (kBeta + rows) * mean;
    hyper.mean = draw(centre, MatrixXd((kBeta + rows) * hyper.precision).llt(), stream);
    return hyper;
}

VectorXd draw_row(const std::vector<Entry>& entries,
                  const MatrixXd& others,
                  const Hyper& hyper,
                  Stream stream) {
    MatrixXd precision = hyper.precision;
    VectorXd right = hyper.precision * hyper.mean;
    for (const Entry& entry : entries) {
        const auto other = others.col(entry.other);
        precision.noalias() += kPrecision * other * other.transpose();
        right += kPrecision * entry.value * other;
    }
    const Eigen::LLT<MatrixXd> root(precision);
    return draw(root.solve(right), root, stream);
}

class Sampler {
public:
    Sampler(const std::vector<Rating>& ratings, const Settings& settings) : settings_(settings) {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
        MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
        take(ratings);
    }

    Outcome run() {
        std::vector<double> sums(held_back_.size(), 0.0);
        for (int iteration = 0; iteration < settings_.iterations; ++iteration) {
            sample(compounds_, proteins_.factors, iteration);
            sample(proteins_, compounds_.factors, iteration);
            if (iteration >= settings_.burn_in) {
                predict(sums);
            }
        }
        return {error(gather(std::move(sums))), hash()};
    }

private:
    void take(const std::vector<Rating>& ratings) {
        int compounds = 0;
        int proteins = 0;
        double sum = 0;
        std::int64_t count = 0;
        for (const Rating& rating : ratings) {
            compounds = std::max(compounds, rating.compound + 1);
            proteins = std::max(proteins, rating.protein + 1);
            if (rating.is_held_back == 0) {
                sum += rating.value;
                ++count;
            }
        }
        mean_ = sum / static_cast<double>(std::max<std::int64_t>(count, 1));
        prepare(compounds_, 0, compounds);
        prepare(proteins_, 1, proteins);
        for (const Rating& rating : ratings) {
            if (rating.is_held_back != 0) {
                held_back_.push_back(rating);
                continue;
            }
            const double value = rating.value - mean_;
            compounds_.entries[static_cast<std::size_t>(rating.compound)].push_back(
                {rating.protein, value});
            proteins_.entries[static_cast<std::size_t>(rating.protein)].push_back(
                {rating.compound, value});
        }
    }

    void prepare(Side& side, std::uint64_t number, int count) const {
        side.number = number;
        side.entries.resize(static_cast<std::size_t>(count));
        side.factors.resize(settings_.factors, count);
        for (int i = 0; i < count; ++i) {
            Stream stream(settings_.seed, 10, number, static_cast<std::uint64_t>(i));
            side.factors.col(i) = normals(stream, settings_.factors) * 0.1;
        }
    }

    void sample(Side& side, const MatrixXd& others, int iteration) const {
        const auto step = 100 + static_cast<std::uint64_t>(iteration);
        const Hyper hyper =
            draw_hyper(side, Stream(settings_.seed, step, side.number, ~std::uint64_t{0}));
        const int count = static_cast<int>(side.factors.cols());
        for (int i = first_of(rank_, ranks_, count); i < first_of(rank_ + 1, ranks_, count); ++i) {
            const auto row = static_cast<std::size_t>(i);
            side.factors.col(i) = draw_row(
                side.entries[row], others, hyper, Stream(settings_.seed, step, side.number, row));
        }
        share(side.factors.data(), count, settings_.factors);
    }

    /// Gives each rank the blocks of the others.
    void share(double* values, int count, int width) const {
        std::vector<int> counts;
        std::vector<int> begins;
        for (int rank = 0; rank < ranks_; ++rank) {
            const int first = first_of(rank, ranks_, count);
            begins.push_back(first * width);
            counts.push_back((first_of(rank + 1, ranks_, count) - first) * width);
        }
        MPI_Allgatherv(MPI_IN_PLACE,
                       0,
                       MPI_DATATYPE_NULL,
                       values,
                       counts.data(),
                       begins.data(),
                       MPI_DOUBLE,
                       MPI_COMM_WORLD);
    }

    void predict(std::vector<double>& sums) const {
        const int count = static_cast<int>(held_back_.size());
        for (int i = first_of(rank_, ranks_, count); i < first_of(rank_ + 1, ranks_, count); ++i) {
            const Rating& rating = held_back_[static_cast<std::size_t>(i)];
            sums[static_cast<std::size_t>(i)] +=
                mean_ +
                compounds_.factors.col(rating.compound).dot(proteins_.factors.col(rating.protein));
        }
    }

    [[nodiscard]] std::vector<double> gather(std::vector<double> sums) const {
        share(sums.data(), static_cast<int>(sums.size()), 1);
        return sums;
    }

    [[nodiscard]] double error(const std::vector<double>& sums) const {
        const int samples = std::max(settings_.iterations - settings_.burn_in, 1);
        double sum = 0;
        for (std::size_t i = 0; i < sums.size(); ++i) {
            sum += std::pow(sums[i] / samples - held_back_[i].value, 2);
        }
        return sums.empty() ? 0 : std::sqrt(sum / static_cast<double>(sums.size()));
    }

    [[nodiscard]] std::uint64_t hash() const {
        std::uint64_t hash = 0xCBF29CE484222325U;
        for (const MatrixXd* factors : {&compounds_.factors, &proteins_.factors}) {
            for (Eigen::Index i = 0; i < factors->size(); ++i) {
                std::uint64_t bits = 0;
                std::memcpy(&bits, factors->data() + i, sizeof bits);
                hash = (hash ^ bits) * 0x100000001B3U;
                hash ^= hash >> 32U;
            }
        }
        return hash;
    }

    Settings settings_;
    int rank_ = 0;
    int ranks_ = 1;
    double mean_ = 0;
    Side compounds_;
    Side proteins_;
    std::vector<Rating> held_back_;
};

} // namespace

Outcome factorise(const std::vector<Rating>& ratings, const Settings& settings) {
    return Sampler(ratings, settings).run();
}

} // namespace bpmf
