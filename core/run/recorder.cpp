#include "core/run/recorder.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>

namespace instr {

Recorder::Recorder(std::optional<ResultsTarget> output, std::function<void(const Error&)> on_error)
    : output_(std::move(output)), on_error_(std::move(on_error)) {}

void Recorder::take(const Measurement& measurement) {
  std::lock_guard lock(mutex_);
  measurements_.add(measurement);
  if (writer_) write(measurement);
}

void Recorder::open(const ResultsHeader& header, std::vector<Measurement> earlier) {
  std::lock_guard lock(mutex_);
  header_ = header;
  if (!output_) return;
  earlier.insert(earlier.end(), measurements_.all().begin(), measurements_.all().end());
  auto writer = ResultsWriter::create(*std::exchange(output_, std::nullopt), header, earlier);
  if (!writer) return fail_to_write(writer.error());
  writer_ = std::move(*writer);
}

void Recorder::finish(bool is_complete, const std::vector<std::string>& strangers) {
  std::lock_guard lock(mutex_);
  if (!header_) return;
  std::vector<std::string>& all = header_->strangers;
  std::ranges::copy_if(strangers, std::back_inserter(all), [&all](const std::string& stranger) {
    return std::ranges::find(all, stranger) == all.end();
  });
  if (!writer_) return;
  auto finished = writer_->finish(is_complete, all);
  could_write_ = true;  // a failed write may succeed now
  if (!finished) fail_to_write(finished.error());
}

std::vector<Measurement> Recorder::in_order_of(const std::vector<Variant>& variants) const {
  std::map<std::string, std::size_t> place;
  for (const auto& variant : variants) place.emplace(variant.key, place.size());
  std::lock_guard lock(mutex_);
  auto sorted = measurements_.all();
  std::stable_sort(sorted.begin(), sorted.end(), [&](const auto& a, const auto& b) {
    return place.at(a.variant.key) < place.at(b.variant.key);
  });
  return sorted;
}

std::optional<ResultsHeader> Recorder::header() const {
  std::lock_guard lock(mutex_);
  return header_;
}

bool Recorder::could_write() const {
  std::lock_guard lock(mutex_);
  return could_write_;
}

void Recorder::write(const Measurement& measurement) {
  auto written = writer_->append(measurement);
  if (!written) fail_to_write(written.error());
}

void Recorder::fail_to_write(const Error& error) {
  if (std::exchange(could_write_, false)) on_error_(error);
}

}  // namespace instr
