#include "cases/npy.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace kiln::cases {
namespace {

class Npy : public ::testing::Test {
 protected:
  void SetUp() override { path_ = (std::filesystem::temp_directory_path() / ("kiln_npy_" + std::to_string(::getpid()) + ".npy")).string(); }
  void TearDown() override { std::filesystem::remove(path_); }

  Result<Array> read(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary) << bytes;
    return read_npy(path_);
  }
  // A file as the format's description lays it out.
  static std::string file(int version, const std::string& header, const std::string& data) {
    std::string out("\x93NUMPY", 6);
    out += static_cast<char>(version);
    out += '\0';
    size_t n = header.size();
    for (int i = 0; i < (version == 1 ? 2 : 4); ++i) out += static_cast<char>(n >> (8 * i) & 0xff);
    return out + header + data;
  }
  static std::string header(const std::string& descr, const std::string& shape, const std::string& fortran = "False") {
    return "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }   \n";
  }
  std::string error_of(const std::string& bytes) {
    auto a = read(bytes);
    return a ? "no error" : a.error().message;
  }
  std::string path_;
};

template <class T>
std::string bytes_of(std::vector<T> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}
template <class T>
std::vector<T> values_of(const Array& a) {
  std::vector<T> out(a.data.size() / sizeof(T));
  std::memcpy(out.data(), a.data.data(), a.data.size());
  return out;
}

TEST_F(Npy, ReadsEveryFormatVersion) {
  for (int version : {1, 2, 3}) {
    auto a = read(file(version, header("<f4", "(2, 3)"), bytes_of<float>({0, 1, 2, 3, 4, 5})));
    ASSERT_TRUE(a) << version << ": " << a.error().to_string();
    EXPECT_EQ(a->kind, 'f');
    EXPECT_EQ(a->item_bytes, 4);
    EXPECT_EQ(a->shape, (std::vector<int64_t>{2, 3}));
    EXPECT_EQ(values_of<float>(*a), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  }
}

TEST_F(Npy, ReadsEveryElementTypeInUse) {
  struct {
    const char* descr;
    char kind;
    int bytes;
  } rows[] = {{"|b1", 'b', 1}, {"|i1", 'i', 1}, {"|u1", 'u', 1}, {"<i2", 'i', 2}, {"<u2", 'u', 2}, {"<f2", 'f', 2},
              {"<i4", 'i', 4}, {"<u4", 'u', 4}, {"<i8", 'i', 8}, {"<u8", 'u', 8}, {"<f8", 'f', 8}};
  for (const auto& row : rows) {
    auto a = read(file(1, header(row.descr, "(3,)"), std::string(static_cast<size_t>(3 * row.bytes), '\1')));
    ASSERT_TRUE(a) << row.descr << ": " << a.error().to_string();
    EXPECT_EQ(a->kind, row.kind);
    EXPECT_EQ(a->item_bytes, row.bytes);
    EXPECT_EQ(a->elements(), 3);
  }
}

TEST_F(Npy, FortranOrderBecomesCOrder) {
  // [[0, 1, 2], [3, 4, 5]], first index fastest.
  auto a = read(file(1, header("<i4", "(2, 3)", "True"), bytes_of<int32_t>({0, 3, 1, 4, 2, 5})));
  ASSERT_TRUE(a);
  EXPECT_EQ(values_of<int32_t>(*a), (std::vector<int32_t>{0, 1, 2, 3, 4, 5}));
  // a[i][j][k] = 100 i + 10 j + k of shape (2, 2, 2).
  a = read(file(1, header("<i2", "(2, 2, 2)", "True"), bytes_of<int16_t>({0, 100, 10, 110, 1, 101, 11, 111})));
  ASSERT_TRUE(a);
  EXPECT_EQ(values_of<int16_t>(*a), (std::vector<int16_t>{0, 1, 10, 11, 100, 101, 110, 111}));
}

TEST_F(Npy, ScalarsAndEmptyArrays) {
  auto scalar = read(file(1, header("<f8", "()"), bytes_of<double>({1.5})));
  ASSERT_TRUE(scalar);
  EXPECT_TRUE(scalar->shape.empty());
  EXPECT_EQ(scalar->elements(), 1);
  auto empty = read(file(1, header("<f8", "(0, 4)"), ""));
  ASSERT_TRUE(empty);
  EXPECT_EQ(empty->elements(), 0);
}

TEST_F(Npy, ABadFileIsOneError) {
  std::string good = file(1, header("<f4", "(2,)"), bytes_of<float>({1, 2}));
  EXPECT_EQ(error_of(""), "not a .npy file");
  EXPECT_EQ(error_of("not numpy at all"), "not a .npy file");
  EXPECT_EQ(error_of(good.substr(0, 40)), "the .npy header is cut short");
  EXPECT_EQ(error_of(good.substr(0, good.size() - 1)), "expected 8 bytes of elements, got 7");
  EXPECT_EQ(error_of(good + "x"), "expected 8 bytes of elements, got 9");
  EXPECT_EQ(error_of(file(4, header("<f4", "(2,)"), "")), "a .npy file of unknown version");
  EXPECT_EQ(error_of(file(1, header(">f4", "(2,)"), "")), "unknown element type '>f4'");
  EXPECT_EQ(error_of(file(1, header("|O", "(2,)"), "")), "unknown element type '|O'");
  EXPECT_EQ(error_of(file(1, header("<c8", "(2,)"), "")), "unknown element type '<c8'");
  EXPECT_EQ(error_of(file(1, header("<f4", "(-2,)"), "")), "the .npy header has no shape");
  EXPECT_EQ(error_of(file(1, header("<f4", "(4611686018427387904, 4611686018427387904)"), "")), "the array's shape is too large");
  EXPECT_EQ(error_of(file(1, "{}", "")), "unknown element type ");
  auto missing = read_npy(path_ + ".missing");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kIo);
}

}  // namespace
}  // namespace kiln::cases
