// Matrix instructions against what an H200 computed from the same registers and shared memory: matrix_h200.txt, which a program that
// tools/matrix_on_gpu.py writes has printed.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "backends/sim/matrix/ldmatrix.h"
#include "backends/sim/matrix/mma.h"
#include "backends/sim/matrix/wgmma.h"
#include "backends/sim/tests/fill.h"

namespace kiln::sim {
namespace {

uint64_t fnv(const std::vector<std::byte>& bytes) {
  uint64_t h = 0xCBF29CE484222325ULL;
  for (std::byte b : bytes) h = (h ^ std::to_integer<uint64_t>(b)) * 0x100000001B3ULL;
  return h;
}

std::vector<std::byte> filled(std::string_view format, uint64_t seed, size_t bytes) {
  std::vector<std::byte> made(bytes);
  fill(format, seed, made.data(), bytes);
  return made;
}
std::vector<std::byte> metadata(Format a, size_t bytes) { return filled(a == Format::kTF32 ? "metadata_tf32" : "metadata", 4, bytes); }

Lanes lanes(std::vector<std::byte>& registers, size_t first = 0, size_t count = 32) {
  auto stride = static_cast<std::ptrdiff_t>(registers.size() / count);
  return Lanes::of(registers.data() + static_cast<std::ptrdiff_t>(first) * stride, stride);
}

std::vector<std::byte> run_mma(const std::string& name, int selector) {
  auto f = parse_mma(name);
  if (!f) return ADD_FAILURE() << f.error().to_string(), std::vector<std::byte>{};
  int word = f->a == Format::kF64 ? 8 : 4;
  auto a = filled(name_of(f->a), 1, 32 * f->registers_a() * word), b = filled(name_of(f->b), 2, 32 * f->registers_b() * word);
  auto c = filled(name_of(f->d), 3, 32 * f->registers_d() * word), e = metadata(f->a, 128);
  std::vector<std::byte> d(c.size());
  if (f->sparse) {
    EXPECT_TRUE(mma_sparse(*f, lanes(d), lanes(a), lanes(b), lanes(c), lanes(e), selector).ok());
  } else {
    mma(*f, lanes(d), lanes(a), lanes(b), lanes(c));
  }
  return d;
}

// Lane l gives the address of 16 bytes in a scrambled order.
Lanes scattered(std::vector<std::byte>& memory) {
  Lanes rows;
  for (int l = 0; l < 32; ++l) rows.at[l] = memory.data() + (l * 7 + 3) % 32 * 16;
  return rows;
}
std::vector<std::byte> run_ldmatrix(const std::string& name) {
  auto f = parse_ldmatrix(name);
  if (!f) return ADD_FAILURE() << f.error().to_string(), std::vector<std::byte>{};
  auto memory = filled("s8", 1, 512);
  std::vector<std::byte> d(128 * f->registers());
  ldmatrix(*f, lanes(d), scattered(memory));
  return d;
}
std::vector<std::byte> run_stmatrix(const std::string& name) {
  auto f = parse_stmatrix(name);
  if (!f) return ADD_FAILURE() << f.error().to_string(), std::vector<std::byte>{};
  auto registers = filled("s8", 1, 128 * f->registers());
  std::vector<std::byte> memory(1024);
  stmatrix(*f, scattered(memory), lanes(registers));
  return memory;
}

std::vector<std::byte> run_wgmma(const std::string& name, int selector, std::istream& line) {
  auto f = parse_wgmma(name);
  if (!f) return ADD_FAILURE() << f.error().to_string(), std::vector<std::byte>{};
  int in_registers, sign_a, sign_b;
  bool keep;
  uint64_t da, db;
  line >> in_registers >> sign_a >> sign_b >> f->transpose_a >> f->transpose_b >> keep >> std::hex >> da >> db;
  f->negate_a = sign_a < 0, f->negate_b = sign_b < 0, f->selector = f->sparse ? selector : 0;
  auto shared = filled(name_of(f->a), 5, 16384), second = filled(name_of(f->b), 6, 32768);
  shared.insert(shared.end(), second.begin(), second.end());
  auto a = filled(name_of(f->a), 1, 2048), e = metadata(f->a, 512), d = filled(name_of(f->d), 3, 128 * f->registers_d() * 4);
  for (int w = 0; w < 4; ++w) {
    Lanes m = lanes(e, 32 * w, 128), sums = lanes(d, 32 * w, 128), left = lanes(a, 32 * w, 128);
    const Lanes* sparse = f->sparse ? &m : nullptr;
    Status s = in_registers ? wgmma(*f, w, sums, left, db, shared, keep, sparse) : wgmma(*f, w, sums, da, db, shared, keep, sparse);
    EXPECT_TRUE(s.ok()) << s.error().to_string();
  }
  return d;
}

TEST(SimMatrix, ComputesWhatAnH200Computes) {
  std::ifstream file(KILN_SOURCE_DIR "/backends/sim/tests/matrix_h200.txt");
  std::string line;
  int lines = 0;
  while (std::getline(file, line)) {
    if (line.starts_with('#')) continue;
    SCOPED_TRACE(line);
    std::istringstream words(line);
    std::string name;
    int selector;
    words >> name >> selector;
    std::vector<std::byte> got = name.starts_with("mma")        ? run_mma(name, selector)
                                 : name.starts_with("ldmatrix") ? run_ldmatrix(name)
                                 : name.starts_with("stmatrix") ? run_stmatrix(name)
                                                                : run_wgmma(name, selector, words);
    uint64_t expected;
    words >> std::hex >> expected;
    EXPECT_EQ(fnv(got), expected);
    ++lines;
  }
  EXPECT_EQ(lines, 196);
}

}  // namespace
}  // namespace kiln::sim
