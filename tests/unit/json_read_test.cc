// Tests of reading JSON that others wrote: functions that give empty values, and a reader whose
// errors have a path.
#include "engine/core/json_read.h"

#include <cmath>

#include "tests/catch.h"

using namespace evolve;
using nlohmann::json;

namespace {

// Returns the problem that a reader finds.
template <class Read>
std::string problem(const json& document, const Read& read) {
  const JsonReader reader(document);
  read(reader);
  const Status status = reader.status();
  return status ? "" : status.error().message;
}

}  // namespace

TEST_CASE("a value that is missing or of another type is read as empty") {
  const json object = {{"name", "k"}, {"share", 0.5},       {"list", {"a", 1, "b"}},
                       {"less", -1},  {"in", {{"a/b", 2}}}, {"many", 1e300}};
  CHECK(text_at(object, "name") == "k");
  CHECK(text_at(object, "share").empty());
  CHECK(text_at(json::array(), "name").empty());
  CHECK(number_at(object, "share") == 0.5);
  CHECK_FALSE(number_at(object, "name"));
  CHECK(number_in(object["name"]) == 0);
  CHECK_FALSE(amount_at(object, "less"));
  CHECK(count_at(object, "many") == 1'000'000'000'000);
  CHECK(count_at(object, "nothing") == 0);
  CHECK(texts_at(object, "list") == std::vector<std::string>{"a", "b"});
  CHECK(list_at(object, "name").empty());
  CHECK(at_place(object, "/in/a~1b") == 2);
  CHECK(at_place(object, "/name/x").is_null());
  CHECK(text_at_place(object, "/name") == "k");
}

TEST_CASE("a reader gives the values of a document") {
  const json document = {{"kernels", {{{"name", "k.1"}, {"times", 3}, {"is_new", true}}}},
                         {"share", 0.5},
                         {"none", nullptr}};
  const JsonReader reader(document);
  const JsonReader kernel = reader.at("kernels").items().at(0);
  CHECK(kernel.at("name").text() == "k.1");
  CHECK(kernel.at("times").count() == 3);
  CHECK(kernel.at("is_new").flag());
  CHECK(reader.at("share").number() == 0.5);
  CHECK(std::isnan(reader.at("none").number()));
  CHECK(kernel.members().size() == 3);
  CHECK(reader.has("none"));
  CHECK_FALSE(kernel.has("none"));
  CHECK(reader.status());
}

TEST_CASE("a reader's error says where the problem is") {
  const json document = {{"kernels", {{{"name", "k.1"}, {"times", 3}}, {{"times", -1}}}}};
  CHECK(problem(document, [](const JsonReader& at) {
          return at.at("kernels").items().at(1).at("name").text();
        }) == "kernels[1].name: it is missing");
  CHECK(problem(document, [](const JsonReader& at) {
          return at.at("kernels").items().at(1).at("times").count();
        }) == "kernels[1].times: it must be a whole number of at least 0, and it is -1");
  CHECK(problem(document, [](const JsonReader& at) {
          return at.at("kernels").items().at(0).at("times").count(2);
        }) == "kernels[0].times: it must be a whole number, 0 to 2, and it is 3");
  CHECK(problem(document, [](const JsonReader& at) { return at.at("kernels").text(); }) ==
        "kernels: it must be a text, and it is a list");
  CHECK(problem(json("x"), [](const JsonReader& at) { return at.at("kernels").flag(); }) ==
        "it must be an object, and it is a text");
}

TEST_CASE("the first problem is kept") {
  const json document = {{"a", 1}, {"b", 2}};
  const JsonReader reader(document);
  CHECK(reader.at("b").text().empty());
  CHECK(reader.at("c").text().empty());
  REQUIRE_FALSE(reader.status());
  CHECK(reader.status().error().message == "b: it must be a text, and it is 2");
}
