// Tests of the command line of a program.
#include "engine/options/command_line.h"

#include <cstdlib>

#include "tests/catch.h"

using namespace evolve;
using options::CommandLine;
using options::Parser;

namespace {

using Words = std::vector<std::string>;

// Returns the message of the error that `words` cause.
std::string error_of(CommandLine& line, const Words& words) {
  const auto answer = line.parse(words);
  return answer ? "no error" : answer.error().message;
}

// A program with a command that has commands of its own.
struct Shop {
  Shop() {
    line.require_command();
    Parser buy = line.add_command("buy", "buy things");
    buy.add("thing", things, "the things").required();
    buy.add("-n,--number", number, "how many").between(1, 10);
    buy.add("--bag", bags, "a bag").repeated();
    buy.add_off("--no-receipt", has_receipt, "print no receipt");
    buy.add("--purse", purse, "the purse").from_environment("SHOP_PURSE");
    buy.set_action([this]() -> Status {
      done = "bought";
      return {};
    });
    Parser account = line.add_command("account", "the account");
    account.set_action([this]() -> Status {
      done = "account shown";
      return {};
    });
    account.add_command("close", "close the account").set_action([]() -> Status {
      return bad_input("the account is not empty");
    });
  }

  CommandLine line = CommandLine("shop", "a shop", "shop 1.2");
  Words things, bags;
  int number = 1;
  bool has_receipt = true;
  std::string purse = "mine";
  std::string done;
};

}  // namespace

TEST_CASE("words become the values of options") {
  Shop shop;
  REQUIRE(shop.line.parse({"buy", "--bag", "red", "tea", "-n", "3", "--bag=blue", "milk"}));
  CHECK(shop.things == Words{"tea", "milk"});
  CHECK(shop.bags == Words{"red", "blue"});
  CHECK(shop.number == 3);
  CHECK(shop.has_receipt);
  CHECK(shop.purse == "mine");
  REQUIRE(shop.line.run());
  CHECK(shop.done == "bought");
}

TEST_CASE("a flag can switch something off, and a variable can give a value") {
  Shop shop;
  ::setenv("SHOP_PURSE", "yours", 1);
  REQUIRE(shop.line.parse({"buy", "tea", "--no-receipt"}));
  ::unsetenv("SHOP_PURSE");
  CHECK(!shop.has_receipt);
  CHECK(shop.purse == "yours");
}

TEST_CASE("the last command that the user names acts") {
  Shop shop;
  REQUIRE(shop.line.parse({"account"}));
  REQUIRE(shop.line.run());
  CHECK(shop.done == "account shown");
  Shop closing;
  REQUIRE(closing.line.parse({"account", "close"}));
  CHECK(closing.line.run().error().message == "the account is not empty");
  CHECK(closing.done.empty());
}

TEST_CASE("help and the version are answers, not errors") {
  for (const Words& words : {Words{"help", "buy"}, Words{"buy", "--help"}, Words{"buy", "-h"}}) {
    Shop shop;
    const auto answer = shop.line.parse(words);
    REQUIRE(answer);
    REQUIRE(*answer);
    CHECK((*answer)->starts_with("buy things\nUsage: shop buy [OPTIONS] thing..."));
  }
  Shop shop;
  CHECK(**shop.line.parse({"--version"}) == "shop 1.2\n");
}

TEST_CASE("a word that is unknown is named, with the word that is most like it") {
  const std::vector<std::pair<Words, std::string>> cases = {
      {{"bui"}, "unknown command 'bui', did you mean 'buy'?"},
      {{"help", "bui"}, "unknown command 'bui', did you mean 'buy'?"},
      {{"account", "cloze"}, "unknown command 'cloze', did you mean 'close'?"},
      {{"buy", "tea", "--nmber", "3"}, "unknown option '--nmber', did you mean '--number'?"},
  };
  for (const auto& [words, message] : cases) {
    Shop shop;
    CHECK(error_of(shop.line, words) == message);
  }
}

TEST_CASE("a value that is not as declared is refused") {
  const std::vector<std::pair<Words, std::string>> cases = {
      {{}, "a subcommand is required"},
      {{"buy"}, "thing is required"},
      {{"buy", "tea", "-n", "11"}, "--number: '11' is not between 1 and 10"},
      {{"buy", "tea", "-n", "x"}, "--number: 'x' is not between 1 and 10"},
  };
  for (const auto& [words, message] : cases) {
    Shop shop;
    CHECK(error_of(shop.line, words) == message);
  }
}

TEST_CASE("an option may have words of a kind of its own") {
  CommandLine line("sum", "adds");
  int sum = 0;
  const auto take = [&](const std::string& word) -> Status {
    if (word == "many") return bad_input("'many' is no number");
    sum += static_cast<int>(word.size());
    return {};
  };
  line.add_words("--words", take).separated();
  REQUIRE(line.parse({"--words", "one,three"}));
  CHECK(sum == 8);
  CHECK(error_of(line, {"--words", "one,many"}) == "--words: 'many' is no number");
}
