// SPDX-License-Identifier: Apache-2.0
// A drawing of runs: points, and a line through the means.
#include "submission/submit/runs.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>

#include <fmt/format.h>

namespace cybele::submission {
namespace {

constexpr double kWidth = 640;
constexpr double kHeight = 400;
constexpr double kLeft = 70;
constexpr double kRight = 20;
constexpr double kTop = 20;
constexpr double kBottom = 50;
constexpr std::array<const char*, 6> kColours{
    "#1b6ca8", "#c8553d", "#3a7d44", "#7a4f9e", "#b08900", "#555555"};

struct Point {
    double x = 0;
    double y = 0;
};

std::optional<double> number_of(const std::string& text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_good = error == std::errc{} && end == text.data() + text.size() &&
                         !text.empty() && std::isfinite(value);
    return is_good ? std::optional(value) : std::nullopt;
}

std::string escaped(const std::string& text) {
    std::string safe;
    for (const char letter : text) {
        safe += letter == '<'   ? "&lt;"
                : letter == '>' ? "&gt;"
                : letter == '&' ? "&amp;"
                                : std::string(1, letter);
    }
    return safe;
}

/// From 0 to the largest value, in steps of 1, 2 or 5 times a power of ten.
struct Axis {
    double most = 1;
    double step = 1;

    explicit Axis(double largest) {
        constexpr double kSteps = 5;
        most = largest > 0 ? largest : 1;
        const double raw = most / kSteps;
        const double power = std::pow(10.0, std::floor(std::log10(raw)));
        step = 10 * power;
        for (const double factor : {1.0, 2.0, 5.0}) {
            if (factor * power >= raw) {
                step = factor * power;
                break;
            }
        }
        most = std::ceil(most / step) * step;
    }
};

double x_of(const Axis& axis, double value) {
    return kLeft + value / axis.most * (kWidth - kLeft - kRight);
}

double y_of(const Axis& axis, double value) {
    return kHeight - kBottom - value / axis.most * (kHeight - kTop - kBottom);
}

std::string draw_axes(const Axis& across, const Axis& up, const PlotChoice& choice) {
    const double floor = kHeight - kBottom;
    std::string text = fmt::format("<path d=\"M{0} {1}V{2}H{3}\" fill=\"none\" stroke=\"#333\"/>\n",
                                   kLeft,
                                   kTop,
                                   floor,
                                   kWidth - kRight);
    for (double value = 0; value <= across.most * 1.0001; value += across.step) {
        const double x = x_of(across, value);
        text += fmt::format("<path d=\"M{0:.1f} {1}v5\" stroke=\"#333\"/><text x=\"{0:.1f}\" "
                            "y=\"{2}\" text-anchor=\"middle\">{3:g}</text>\n",
                            x,
                            floor,
                            floor + 18,
                            value);
    }
    for (double value = 0; value <= up.most * 1.0001; value += up.step) {
        const double y = y_of(up, value);
        text += fmt::format("<path d=\"M{0} {1:.1f}h-5\" stroke=\"#333\"/><text x=\"{2}\" "
                            "y=\"{3:.1f}\" text-anchor=\"end\">{4:g}</text>\n",
                            kLeft,
                            y,
                            kLeft - 8,
                            y + 4,
                            value);
    }
    return text + fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n"
                              "<text transform=\"translate(16 {}) rotate(-90)\" "
                              "text-anchor=\"middle\">{}</text>\n",
                              (kLeft + kWidth - kRight) / 2,
                              kHeight - 10,
                              escaped(choice.x),
                              (kTop + floor) / 2,
                              escaped(choice.y));
}

std::string draw_series(const Axis& across,
                        const Axis& up,
                        const std::vector<Point>& points,
                        const char* colour) {
    std::string text;
    std::map<double, std::pair<double, int>> sums;
    for (const Point& point : points) {
        text += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>\n",
                            x_of(across, point.x),
                            y_of(up, point.y),
                            colour);
        sums[point.x].first += point.y;
        ++sums[point.x].second;
    }
    std::string line;
    for (const auto& [x, sum] : sums) {
        line += fmt::format("{}{:.1f} {:.1f}",
                            line.empty() ? "M" : "L",
                            x_of(across, x),
                            y_of(up, sum.first / sum.second));
    }
    return text + fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\"/>\n", line, colour);
}

} // namespace

Result<PlotChoice> read_plot(const std::string& text) {
    PlotChoice choice;
    bool is_good = true;
    for (const std::string_view part : text::split(text, ',')) {
        const auto equals = part.find('=');
        const std::string_view name = part.substr(0, equals);
        std::string* const member = name == "x"    ? &choice.x
                                    : name == "y"  ? &choice.y
                                    : name == "by" ? &choice.by
                                                   : nullptr;
        is_good = is_good && member != nullptr && equals != std::string_view::npos;
        if (is_good) {
            *member = part.substr(equals + 1);
        }
    }
    if (!is_good || choice.x.empty() || choice.y.empty()) {
        return fail(ErrorCode::kUsage,
                    problem("plot-choice", "--plot does not read '" + printable(text) + "'"),
                    "it names a column for each axis, and one for several lines",
                    "write for example --plot x=tasks,y=wall");
    }
    return choice;
}

Result<std::string> runs_svg(const std::vector<Run>& runs, const PlotChoice& choice) {
    std::map<std::string, std::vector<Point>> series;
    double most_x = 0;
    double most_y = 0;
    for (const Run& run : runs) {
        const auto x = number_of(run.value(choice.x));
        const auto y = number_of(run.value(choice.y));
        if (run.value("state") != "done" || !x || !y || *x < 0 || *y < 0) {
            continue;
        }
        series[choice.by.empty() ? "" : run.value(choice.by)].push_back({*x, *y});
        most_x = std::max(most_x, *x);
        most_y = std::max(most_y, *y);
    }
    if (series.empty()) {
        const std::vector<std::string> columns = columns_of(runs);
        return fail(ErrorCode::kInput,
                    problem("plot-without-points",
                            "no run that ended well has numbers for '" + printable(choice.x) +
                                "' and '" + printable(choice.y) + "'"),
                    fmt::format("the columns are {}", fmt::join(columns, ", ")),
                    "let the program print `key=value` lines, or choose other columns");
    }
    const Axis across(most_x);
    const Axis up(most_y);
    std::string text = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
        "height=\"{1}\" font-family=\"sans-serif\" font-size=\"12\">\n"
        "<rect width=\"{0}\" height=\"{1}\" fill=\"#fff\"/>\n",
        kWidth,
        kHeight);
    text += draw_axes(across, up, choice);
    std::size_t number = 0;
    for (const auto& [name, points] : series) {
        const char* const colour = kColours[number % kColours.size()];
        text += draw_series(across, up, points, colour);
        if (!name.empty()) {
            text += fmt::format("<text x=\"{}\" y=\"{}\" fill=\"{}\">{}={}</text>\n",
                                kLeft + 12,
                                kTop + 14 + 16 * static_cast<double>(number),
                                colour,
                                escaped(choice.by),
                                escaped(name));
        }
        ++number;
    }
    return text + "</svg>\n";
}

} // namespace cybele::submission
