#include "backends/sim/checker/counters.h"

#include <algorithm>
#include <array>
#include <set>

namespace kiln::sim::checker {

namespace {

constexpr size_t kBanks = 32, kWord = 4, kSector = 32, kWidest = 16;
constexpr size_t kMostRequests = 65536;  // open at one site; what a lane does beyond is not counted

// The numbers of the units of `size` bytes that the pieces touch.
std::set<uintptr_t> units(std::span<const Piece> pieces, size_t size) {
  std::set<uintptr_t> all;
  for (const Piece& p : pieces) {
    for (uintptr_t u = p.at / size; u <= (p.at + p.bytes - 1) / size; ++u) all.insert(u);
  }
  return all;
}

int64_t wavefronts(std::span<const Piece> pieces) {
  std::array<int64_t, kBanks> words{};
  for (uintptr_t word : units(pieces, kWord)) ++words[word % kBanks];
  return *std::max_element(words.begin(), words.end());
}

int64_t divide_up(size_t a, size_t b) { return static_cast<int64_t>((a + b - 1) / b); }

}  // namespace

Cost shared_cost(std::span<const Piece> request) {
  std::array<size_t, 32> bytes{};
  for (const Piece& p : request) bytes[static_cast<size_t>(p.lane)] += p.bytes;
  size_t widest = std::max(kWord, *std::max_element(bytes.begin(), bytes.end()));
  int lanes = static_cast<int>(std::max<size_t>(1, kBanks * kWord / widest));  // that are served together
  Cost c;
  for (int first = 0; first < 32; first += lanes) {
    std::vector<Piece> part;
    std::copy_if(request.begin(), request.end(), std::back_inserter(part),
                 [&](const Piece& p) { return p.lane >= first && p.lane < first + lanes; });
    c.taken += wavefronts(part);
  }
  c.ideal = divide_up(units(request, kWord).size(), kBanks);
  return c;
}

Cost global_cost(std::span<const Piece> request) {
  return {static_cast<int64_t>(units(request, kSector).size()), divide_up(units(request, 1).size(), kSector)};
}

void Counters::add(std::span<const Piece> request, bool is_shared, Access access, uint32_t site) {
  Cost c = is_shared ? shared_cost(request) : global_cost(request);
  runtime::AccessCount& count = counts_[{site, is_shared}];
  count.access = is_atomic(access) ? "atomic" : writes(access) ? "write" : "read";
  ++count.requests;
  count.taken += c.taken, count.ideal += c.ideal;
}

void Counters::flush(const Key& key, Open& open) {
  for (const std::vector<Piece>& request : open.requests) add(request, std::get<1>(key), open.access, std::get<0>(key));
  open.requests.clear();
}

void Counters::add(uint64_t warp, int lane, const void* at, size_t bytes, bool is_shared, Access access, uint32_t site, int elements) {
  Key key{site, is_shared, warp};
  Open& open = open_[key];
  // Lanes begin again: another run of the same code. So they may where one lane is all that comes.
  if (lane < open.lane || (lane == open.first_lane && open.requests.size() == kMostRequests)) flush(key, open), open.lane = -1;
  if (open.requests.empty()) open.first_lane = lane;
  if (lane != open.lane) open.accesses = 0;
  open.lane = lane, open.access = access;
  size_t each = std::clamp<size_t>(kWidest / std::max<size_t>(bytes, 1), 1, static_cast<size_t>(std::max(elements, 1)));
  size_t request = open.accesses++ / each;
  if (request >= kMostRequests) return;
  if (request >= open.requests.size()) open.requests.resize(request + 1);
  open.requests[request].push_back({lane, reinterpret_cast<uintptr_t>(at), bytes});
}

std::vector<runtime::AccessCount> Counters::take(const std::string& kernel, std::span<const Site> sites) {
  for (auto& [key, open] : open_) flush(key, open);
  open_.clear();
  std::vector<runtime::AccessCount> all;
  for (auto& [key, count] : counts_) {
    Site site = key.first < sites.size() ? sites[key.first] : Site{};
    count.kernel = kernel, count.place = site.place, count.line = site.line, count.buffer = site.buffer;
    count.memory = key.second ? "shared" : "global";
    all.push_back(std::move(count));
  }
  counts_.clear();
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.line < b.line; });
  return all;
}

}  // namespace kiln::sim::checker
