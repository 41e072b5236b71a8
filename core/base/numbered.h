// Numbers values in the order in which they first appear, for tables of texts in files.
#pragma once

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

namespace instr {

template <class Value>
class Numbered {
 public:
  std::size_t number_of(const Value& value) {
    const auto [entry, is_new] = numbers_.try_emplace(value, all_.size());
    if (is_new) all_.push_back(value);
    return entry->second;
  }

  const std::vector<Value>& all() const { return all_; }
  std::vector<Value> take() { return std::move(all_); }

 private:
  std::map<Value, std::size_t> numbers_;
  std::vector<Value> all_;
};

}  // namespace instr
