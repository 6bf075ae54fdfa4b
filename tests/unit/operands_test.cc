// Tests of operands: their files, and the addresses of their values. The addresses are from
// libtpu's schedules of kernels that read these elements from prefetched tables.
#include "engine/ir/model/operands.h"

#include <numeric>

#include "tests/catch.h"

using namespace evolve;
using namespace evolve::ir;
using nlohmann::json;

namespace {

Schedule with_operand(const std::string& dtype, std::vector<uint32_t> shape) {
  Schedule schedule;
  schedule.name = "toy";
  schedule.operands.push_back({0, "vmem", dtype, std::move(shape), false});
  return schedule;
}

Schedule module(const std::string& name) {
  Schedule schedule;
  schedule.name = name;
  return schedule;
}

// Returns the words of a table that counts from 0, modulo 100 unless `dtype` is "s32".
std::vector<uint32_t> counted(const std::string& dtype, const std::vector<uint32_t>& shape) {
  size_t count = 1;
  for (uint32_t extent : shape) count *= extent;
  Values values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<double>(dtype == "s32" ? i : i % 100);
  auto laid = lay_out(with_operand(dtype, shape), {{0, values}});
  INFO((laid ? "" : laid.error().message));
  REQUIRE(laid);
  return laid->at(0);
}

std::string error_of(const std::string& dtype, const std::vector<uint32_t>& shape,
                     const Values& values, uint32_t number = 0) {
  auto laid = lay_out(with_operand(dtype, shape), {{number, values}});
  return laid ? "" : laid.error().message;
}

std::string npy(const std::string& head, const std::string& data) {
  std::string bytes = "\x93NUMPY";
  bytes += '\1';
  bytes += '\0';
  bytes += static_cast<char>(head.size());
  bytes += '\0';
  return bytes + head + data;
}

}  // namespace

TEST_CASE("matrices of words lie in tiles of at most eight rows") {
  struct Seen {
    std::vector<uint32_t> shape;
    std::vector<uint32_t> at;
    size_t address;
  };
  for (const Seen& seen : {Seen{{1, 200}, {0, 130}, 0x82},
                           {{2, 200}, {1, 130}, 0x182},
                           {{3, 200}, {2, 190}, 0x33e},
                           {{5, 200}, {1, 130}, 0x482},
                           {{12, 200}, {9, 130}, 0xc82},
                           {{2, 3, 200}, {1, 1, 1}, 0x481},
                           {{2, 3, 200}, {1, 2, 190}, 0x73e},
                           {{2, 12, 40}, {1, 9, 39}, 0xca7},
                           {{3000}, {190}, 0xbe}}) {
    uint32_t value = 0;
    for (size_t i = 0; i < seen.shape.size(); ++i) value = value * seen.shape[i] + seen.at[i];
    auto words = counted("s32", seen.shape);
    INFO(seen.address);
    REQUIRE(seen.address < words.size());
    CHECK(words[seen.address] == value);
  }
}

TEST_CASE("smaller elements of following rows share a word") {
  auto element = [](const std::string& dtype, const std::vector<uint32_t>& shape, size_t address,
                    uint32_t shift) {
    uint32_t mask = dtype == "s16" ? 0xffff : 0xff;
    return counted(dtype, shape).at(address) >> shift & mask;
  };
  CHECK(element("s8", {40, 200}, 0x102, 8) == (1 * 200 + 130) % 100);
  CHECK(element("s8", {40, 200}, 0x302, 8) == (9 * 200 + 130) % 100);
  CHECK(element("s8", {40, 200}, 0x93e, 8) == (33 * 200 + 190) % 100);
  CHECK(element("s8", {3, 200}, 0x82, 16) == (2 * 200 + 130) % 100);
  CHECK(element("s8", {600}, 0x3e, 8) == 190 % 100);
  CHECK(element("s16", {600}, 0x2, 16) == 130 % 100);
  CHECK(element("s16", {20, 200}, 0x602, 16) == (9 * 200 + 130) % 100);
  CHECK(element("s16", {20, 200}, 0xabe, 16) == (19 * 200 + 190) % 100);
}

TEST_CASE("values keep their sign, floats are 32 bits wide") {
  auto laid = lay_out(with_operand("s32", {2}), {{0, {-1, 4294967295.0}}});
  REQUIRE(laid);
  CHECK(laid->at(0) == std::vector<uint32_t>{0xffffffff, 0xffffffff});
  auto floats = lay_out(with_operand("f32", {}), {{0, {1.5}}});
  REQUIRE(floats);
  CHECK(floats->at(0) == std::vector<uint32_t>{0x3fc00000});
}

TEST_CASE("what does not fit is refused") {
  CHECK(error_of("s32", {9}, {1, 2}) ==
        "toy: operand 0: the operand is a s32[9], but has 2 values");
  CHECK(error_of("s32", {1}, {1.5}) == "toy: operand 0: 1.5 is not a s32");
  CHECK(error_of("s8", {1}, {256}) == "toy: operand 0: 256 is not a s8");
  CHECK(error_of("s32", {1}, {1}, 3) == "toy: no operand 3");
  CHECK(error_of("bf16", {1}, {1}) == "toy: operand 0: the memory layout of a bf16[1] is unknown");
}

TEST_CASE("operands are read from each form") {
  auto by_number = read_operands(json::parse(R"({"0": [[1, 2], [3, 4]], "2": 7})"));
  REQUIRE(by_number);
  const auto* runs = by_number->of(module("any.1")).each;
  REQUIRE(runs != nullptr);
  CHECK(runs->front().operands == OperandValues{{0, {1, 2, 3, 4}}, {2, {7}}});

  auto list = read_operands(json::parse("[null, true, [1.5]]"));
  REQUIRE(list);
  CHECK(list->of(module("x")).each->front().operands == OperandValues{{1, {1}}, {2, {1.5}}});

  auto kernels = read_operands(json::parse(
      R"({"kernels": {"gmm": [{"times": 3, "operands": {"0": 1}}, {"operands": {"0": 2}}]}})"));
  REQUIRE(kernels);
  CHECK(kernels->of(module("other.1")).each == nullptr);
  REQUIRE(kernels->of(module("gmm.1")).each != nullptr);
  REQUIRE(kernels->of(module("gmm.1")).each->size() == 2);
  CHECK(kernels->of(module("gmm.1")).each->at(0).times == 3);
  CHECK(kernels->of(module("gmm.1")).each->at(1).operands == OperandValues{{0, {2}}});
}

TEST_CASE("kernels are identified by the shapes of their operands") {
  const json document = json::parse(R"({"kernels": {
      "kernel_0": [{"operands": {"0": [1, 2]}, "shapes": ["s32[2]", null]}],
      "kernel_1": [{"operands": {"0": [3]}, "shapes": ["s32[1]", "f32[8,128]"]}]}})");
  auto input = read_operands(document);
  REQUIRE(input);
  Schedule two = with_operand("s32", {2});
  two.operands.push_back({1, "hbm", "bf16", {4, 4}, false});
  two.operands.push_back({2, "hbm", "f32", {9}, true});  // an output
  REQUIRE(input->of(two).each != nullptr);
  CHECK(input->of(two).each->front().operands.at(0) == Values{1, 2});
  Schedule one = with_operand("s32", {1});
  one.operands.push_back({1, "hbm", "f32", {8, 128}, false});
  REQUIRE(input->of(one).each != nullptr);
  CHECK(input->of(one).each->front().operands.at(0) == Values{3});
  one.operands.back().shape = {8, 256};
  CHECK(input->of(one).each == nullptr);
  // If two kernels have the same shapes but different values, they cannot be told apart.
  json twice = document;
  twice["kernels"]["kernel_2"] = twice["kernels"]["kernel_0"];
  input = read_operands(twice);
  REQUIRE(input);
  CHECK(input->of(two).each != nullptr);
  CHECK(input->of(two).kernels == 2);
  twice["kernels"]["kernel_2"][0]["operands"]["0"] = {1, 7};
  input = read_operands(twice);
  REQUIRE(input);
  CHECK(input->of(two).each == nullptr);
}

TEST_CASE("a document that is not operands is refused") {
  auto error = [](const char* text) {
    auto read = read_operands(json::parse(text));
    return read ? "" : read.error().message;
  };
  CHECK(error((std::string(100, '[') + std::string(100, ']')).c_str()) ==
        "operand 0: lists are nested too deeply");
  CHECK(error("3") == "expected a map of operands by their numbers, or a list of operands");
  CHECK(error(R"({"x": 1})") == "'x' is not the number of an operand");
  CHECK(error(R"({"0": [1, "a"]})") ==
        "operand 0: expected a number or a list of numbers, got \"a\"");
  CHECK(error(R"({"kernels": {"a": 1}})") == "'kernels': 'a': expected a list of runs");
  CHECK(error(R"({"kernels": {"a": [{"times": -1, "operands": {}}]}})") ==
        "'kernels': 'a': 'times' is not a number of runs");
}

TEST_CASE("NumPy files are read") {
  auto read = read_npy(npy("{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }\n",
                           {"\1\0\0\0\xff\xff\xff\xff", 8}));
  REQUIRE(read);
  CHECK(*read == Values{1, -1});
  CHECK(read_npy("PK").error().message == "not a NumPy file");
  CHECK(read_npy(npy("{'descr': '<i4', 'fortran_order': True, 'shape': (2, 2), }", ""))
            .error()
            .message == "the NumPy file is not in row-major order");
  CHECK(
      read_npy(npy("{'descr': '|O', 'fortran_order': False, 'shape': (), }", "")).error().message ==
      "NumPy files of type '|O' are not supported");
  CHECK(read_npy(npy("{'descr': '<i4', 'fortran_order': False, 'shape': (1,), }", "abc"))
            .error()
            .message == "the NumPy file ends in a number");
}
