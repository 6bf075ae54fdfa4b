#include "engine/search/learning/learn.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>

#include "engine/core/digest.h"
#include "engine/core/json_read.h"
#include "engine/core/text/lines.h"
#include "engine/core/text/plain_text.h"
#include "engine/search/history/novelty.h"
#include "engine/search/selection/contest.h"

namespace evolve::search {

namespace {

using nlohmann::json;

constexpr size_t kMostTitle = 120;   // bytes
constexpr size_t kMostReason = 600;  // bytes

enum class Outcome {
  unjudged,  // nothing to compare
  rejected,
  behind,  // slower than its best parent
  tie,
  gain,     // faster, but by less than the rule's effect
  success,  // faster by at least the rule's effect
};

// A variant, compared with the best of its parents and the seed.
struct Judged {
  const PastVariant* past = nullptr;
  Outcome outcome = Outcome::unjudged;
  VariantId parent;  // if it was compared
  Ratio ratio;       // of its score to the parent's
};

// Replaces numbers by "#", so that a reason is the same whatever the sizes.
std::string without_numbers(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789", kHexDigits = "0123456789abcdef";
  std::string out;
  while (!text.empty()) {
    size_t taken = text.starts_with("0x") ? 2 : 0;
    taken = std::min(text.find_first_not_of(taken > 0 ? kHexDigits : kDigits, taken), text.size());
    // Takes the number's fraction and power of ten, too.
    for (std::string_view mark : {".", "e-", "e+"}) {
      const std::string_view rest = text.substr(taken);
      const size_t end = std::min(rest.find_first_not_of(kDigits, mark.size()), rest.size());
      if (taken > 0 && rest.starts_with(mark) && end > mark.size()) taken += end;
    }
    if (taken > 0) out += '#';
    text.remove_prefix(taken);
    if (taken > 0) continue;
    out += text.front();
    text.remove_prefix(1);
  }
  return out;
}

// Returns the sentence as a title, cut between words if it is long.
std::string title_of(const std::string& sentence) {
  if (sentence.size() <= kMostTitle) return sentence;
  const std::string_view start = start_of(sentence, kMostTitle);
  return fmt::format("{} …", without_end_blanks(start.substr(0, start.find_last_of(' '))));
}

std::string model_of(const PastVariant& past) {
  return past.exchange ? past.exchange->model : std::string();
}

std::vector<std::string> sentences_of(const PastVariant& past) {
  std::vector<std::string> out;
  if (past.exchange) out = past.exchange->learnings;
  std::erase(out, "");
  return out;
}

// Returns the variant's change from its parent. A model's note begins with the mode and the model,
// which are dropped.
std::string change_of(const PastVariant& past) {
  const std::string model = model_of(past);
  if (model.empty()) return past.note;
  const std::string head = fmt::format("by {}: ", model);
  const size_t at = past.note.find(head);
  return at == std::string::npos ? past.note : past.note.substr(at + head.size());
}

std::string symptom_of(const Rejection& why) {
  return fmt::format("{}: {}: {}", why.step, why.kind, one_line(why.reason, kMostReason));
}

// These return keys. Topics with a common key are one topic.
Digest title_key(std::string_view title) {
  return digest_of("title " + normalised_sentence(title));
}
Digest change_key(std::string_view change) {
  return digest_of("change " + normalised_sentence(change));
}
Digest symptom_key(std::string_view symptom) {
  return digest_of("symptom " + without_numbers(normalised_sentence(symptom)));
}
// Returns the change_key of a change, and the title_key of its title.
std::array<Digest, 2> keys_of_change(std::string_view change, std::string_view title) {
  const std::string normalised = normalised_sentence(change);
  return {digest_of("change " + normalised),
          title == change ? digest_of("title " + normalised) : title_key(title)};
}

// One possible learning, and the variants that it is about.
struct Topic {
  LearningKind kind = LearningKind::success;
  std::string title;
  std::string handle = {};    // of a model's words; else empty
  std::string sentence = {};  // in full
  std::string fix = {};       // for a failure: how a later variant mended it
  bool is_person = false;     // is in the person's file
  bool is_accepted = false;   // by the rule
  std::vector<const Judged*> seen = {};

  [[nodiscard]] bool is_by_model() const { return !handle.empty(); }

  void see(const Judged& one) {
    if (!seen.empty() && seen.back() == &one) return;
    seen.push_back(&one);
    is_accepted = is_accepted || (counts(one) && one.outcome != Outcome::gain);
  }

  [[nodiscard]] bool counts(const Judged& one) const {
    return kind == LearningKind::failure
               ? one.outcome == Outcome::rejected
               : one.outcome == Outcome::gain || one.outcome == Outcome::success;
  }
  // Returns the first variant that counts. If no variant counts, returns the first of all.
  [[nodiscard]] const Judged& first() const {
    auto it =
        std::find_if(seen.begin(), seen.end(), [&](const Judged* one) { return counts(*one); });
    return it == seen.end() ? *seen.front() : **it;
  }
};

class Learner {
 public:
  Learner(const History& history, const Learnings& by_person, const LearnRule& rule)
      : rule_(rule), contest_(rule.resolution, rule.is_relative) {
    out_.accepted = learnings_in_round(by_person, rule.round, rule.kernel);
    by_id_.reserve(history.size());
    topic_of_.reserve(2 * history.size());
    topics_.reserve(history.size());
    for (const PastVariant& past : history) {
      by_id_[past.id] = &past;
      if (past.round == 0) seed_ = &past;
    }
    judged_.reserve(history.size());
    for (const PastVariant& past : history) judged_.push_back(judge(past));
  }

  Lessons run(Proposals proposals) {
    for (const Learning& entry : out_.accepted.entries) take_persons(entry);
    for (const Judged& one : judged_) {
      if (one.past->round > 0) take(one);
    }
    for (size_t i = 0; i < persons_; ++i) add_evidence(topics_[i], out_.accepted.entries[i]);
    for (const size_t number : by_acceptance_) {
      Learning entry = entry_of(topics_[number]);
      entry.id = free_id(out_.accepted.entries, entry.kind);
      out_.accepted.entries.push_back(std::move(entry));
    }
    for (const Topic& topic : topics_) {
      const bool is_wanted =
          proposals == Proposals::all || (proposals == Proposals::of_models && topic.is_by_model());
      if (is_wanted) propose(topic);
    }
    return std::move(out_);
  }

 private:
  [[nodiscard]] Judged judge(const PastVariant& past) const {
    Judged out;
    out.past = &past;
    if (past.rejection) {
      const bool is_kernel = past.rejection->step != "adopt" &&
                             past.rejection->kind != "not_reached" && !is_near_duplicate(past);
      out.outcome = is_kernel ? Outcome::rejected : Outcome::unjudged;
      return out;
    }
    const PastVariant* best = nullptr;
    auto hold_against = [&](const PastVariant& other) {
      if (other.score && (best == nullptr || *other.score > *best->score)) best = &other;
    };
    for (const VariantId id : past.parents) {
      if (auto it = by_id_.find(id); it != by_id_.end()) hold_against(*it->second);
    }
    if (!past.score || best == nullptr) return out;
    // A proposal names its own parents, and any variant is a gain over a slow parent. So the seed
    // counts, too.
    if (seed_ != nullptr) hold_against(*seed_);
    const Ranked own = {.score = *past.score, .half_width = past.half_width};
    const Ranked its = {.score = *best->score, .half_width = best->half_width};
    const double width = std::hypot(past.half_width, best->half_width);
    out.parent = best->id;
    out.ratio.value = own.score / its.score;
    out.ratio.low = out.ratio.value * std::exp(-width);
    out.ratio.high = out.ratio.value * std::exp(width);
    out.outcome = contest_.is_ahead(its, own)          ? Outcome::behind
                  : !contest_.is_ahead(own, its)       ? Outcome::tie
                  : out.ratio.value < 1 + rule_.effect ? Outcome::gain
                                                       : Outcome::success;
    return out;
  }

  void take_persons(const Learning& entry) {
    Topic topic;
    topic.kind = entry.kind;
    topic.title = entry.title;
    topic.is_person = true;
    std::vector<Digest> keys = {title_key(entry.title)};
    const bool is_failure = entry.kind == LearningKind::failure;
    const std::string_view what = entry.field(is_failure ? "Symptom" : "Optimization");
    if (!what.empty()) keys.push_back(is_failure ? symptom_key(what) : change_key(what));
    for (const Digest& key : keys) topic_of_.try_emplace(key, topics_.size());
    topics_.push_back(std::move(topic));
    ++persons_;
  }

  void take(const Judged& one) {
    const PastVariant& past = *one.past;
    const std::vector<std::string> sentences = sentences_of(past);
    for (size_t i = 0; i < sentences.size(); ++i) {
      Topic topic = {.kind = LearningKind::success,
                     .title = title_of(sentences[i]),
                     .handle = fmt::format("{}.{}", past.id, i + 1),
                     .sentence = sentences[i]};
      const Digest key = title_key(topic.title);
      see(one, std::array{key}, std::move(topic));
    }
    const std::string change = change_of(past);
    if (sentences.empty() && !change.empty() && one.outcome != Outcome::unjudged) {
      std::string title = title_of(change);
      const auto keys = keys_of_change(change, title);
      see(one, keys,
          {.kind = LearningKind::success, .title = std::move(title), .sentence = change});
    }
    if (one.outcome == Outcome::rejected) {
      const std::string symptom = symptom_of(*past.rejection);
      failure_of_[past.id] =
          see(one, std::array{symptom_key(symptom), title_key(title_of(symptom))},
              {.kind = LearningKind::failure, .title = title_of(symptom)});
    } else if (one.outcome != Outcome::unjudged) {
      note_fix(past, sentences.empty() ? change : sentences.front());
    }
  }

  // Adds a variant to the topic with one of the keys, or to a new topic. Returns the topic's
  // number.
  size_t see(const Judged& one, std::span<const Digest> keys, Topic topic) {
    size_t number = topics_.size();
    for (const Digest& key : keys) {
      if (auto it = topic_of_.find(key); it != topic_of_.end())
        number = std::min(number, it->second);
    }
    if (number == topics_.size()) topics_.push_back(std::move(topic));
    for (const Digest& key : keys) topic_of_.try_emplace(key, number);
    Topic& known = topics_[number];
    const bool was_accepted = known.is_accepted;
    known.see(one);
    if (!known.is_person && !was_accepted && known.is_accepted) by_acceptance_.push_back(number);
    return number;
  }

  // Notes a fix. A child that was not rejected has mended its rejected parent.
  void note_fix(const PastVariant& past, const std::string& words) {
    for (const VariantId parent : past.parents) {
      auto it = failure_of_.find(parent);
      if (it == failure_of_.end() || words.empty()) continue;
      std::string& fix = topics_[it->second].fix;
      if (fix.empty()) fix = fmt::format("{} ({})", words, past.id);
    }
  }

  static Evidence evidence_of(const PastVariant& past) {
    return {past.id, fmt::format("../round-{}/{}/variant.json", past.round, past.id)};
  }

  void add_evidence(const Topic& topic, Learning& entry) const {
    if (entry.is_rejected) return;
    std::map<VariantId, size_t> had;  // places of the evidence that a person gave
    for (size_t i = 0; i < entry.evidence.size(); ++i) had.emplace(entry.evidence[i].variant, i);
    for (const Judged* one : topic.seen) {
      if (!topic.counts(*one)) continue;
      const auto it = had.find(one->past->id);
      if (it == had.end()) {
        entry.evidence.push_back(evidence_of(*one->past));
      } else if (entry.evidence[it->second].link.empty()) {
        entry.evidence[it->second] = evidence_of(*one->past);
      }
    }
  }

  [[nodiscard]] std::string speed_words(const Judged& one) const {
    const bool is_of_seed = by_id_.at(one.parent)->round == 0;
    return fmt::format("{:.3f}x the {}", one.ratio.value,
                       is_of_seed ? "seed's speed" : fmt::format("speed of {}", one.parent));
  }

  [[nodiscard]] std::string outcome_words(const Judged& one) const {
    const auto& why = one.past->rejection;
    switch (one.outcome) {
      case Outcome::unjudged:
        return why ? fmt::format("was no kernel: {}", why->kind) : "was not compared";
      case Outcome::rejected: return fmt::format("rejected by {}: {}", why->step, why->kind);
      case Outcome::tie: return fmt::format("{}: a tie", speed_words(one));
      case Outcome::gain:
        return fmt::format("{}: less than {:.3g} %", speed_words(one), 100 * rule_.effect);
      case Outcome::behind:
      case Outcome::success: break;
    }
    return speed_words(one);
  }

  [[nodiscard]] std::string impact_of(const Topic& topic) const {
    const Judged* best = nullptr;
    double least = 0;
    int count = 0;
    for (const Judged* one : topic.seen) {
      if (!topic.counts(*one)) continue;
      least = count++ == 0 ? one->ratio.value : std::min(least, one->ratio.value);
      if (best == nullptr || one->ratio.value > best->ratio.value) best = one;
    }
    if (best == nullptr) return {};
    std::string out = fmt::format("{} ({}", speed_words(*best),
                                  rule_.time_kind ? to_string(*rule_.time_kind) : "none");
    if (best->ratio.half_width() > 0)
      out += fmt::format(", 95 % interval {:.3f} to {:.3f}", best->ratio.low, best->ratio.high);
    out += ")";
    if (rule_.is_relative && by_id_.at(best->parent)->round > 0)
      out += fmt::format(", {:.3f}x the seed's", *best->past->score);
    if (count > 1)
      out += fmt::format("; {:.3f}x to {:.3f}x in {} variants", least, best->ratio.value, count);
    return out;
  }

  // Returns, for a success, the variants of the topic that were slower or rejected.
  [[nodiscard]] std::string but_of(const Topic& topic) const {
    std::vector<std::string> out;
    for (const Judged* one : topic.seen) {
      if (one->outcome == Outcome::behind || one->outcome == Outcome::rejected)
        out.push_back(fmt::format("{} ({})", one->past->id, outcome_words(*one)));
    }
    return fmt::format("{}", fmt::join(out, ", "));
  }

  [[nodiscard]] Learning entry_of(const Topic& topic) const {
    Learning out = {.kind = topic.kind, .title = topic.title};
    auto add = [&](const char* name, std::string text) {
      if (!text.empty()) out.fields.push_back({name, std::move(text)});
    };
    const PastVariant& first = *topic.first().past;
    const std::string change = change_of(first);
    if (topic.kind == LearningKind::failure) {
      const std::string& name = first.rejection->case_name;
      add("Symptom", symptom_of(*first.rejection));
      add("Change",
          fmt::format("{}{}of {}{}", change, change.empty() ? "" : ", ",
                      fmt::join(first.parents, " and "), name.empty() ? "" : ", case " + name));
      add("Fix", topic.fix);
    } else {
      add("Optimization", change);
      add("Impact", impact_of(topic));
      if (topic.sentence != topic.title && topic.sentence != change)
        add("Why it works", topic.sentence);
      add("But", but_of(topic));
    }
    const std::string model = model_of(first);
    add("First seen", fmt::format("round {}, {}, by {}", first.round, rule_.kernel,
                                  model.empty() ? first.mutator : model));
    add_evidence(topic, out);
    return out;
  }

  void propose(const Topic& topic) {
    const bool is_said =
        topic.is_by_model() || topic.counts(topic.seen.empty() ? Judged() : topic.first());
    if (topic.is_person || topic.is_accepted || topic.seen.empty() || !is_said) return;
    const Judged& newest = topic.is_by_model() ? *topic.seen.back() : topic.first();
    ProposedLearning out = {
        topic.is_by_model(), topic.is_by_model() ? topic.handle : newest.past->id.text(),
        entry_of(topic), fmt::format("{}: {}", newest.past->id, outcome_words(newest))};
    out_.proposed.push_back(std::move(out));
  }

  const LearnRule& rule_;
  Contest contest_;
  // Only for look-up: nothing iterates over it, because its order is arbitrary.
  std::unordered_map<VariantId, const PastVariant*> by_id_;
  const PastVariant* seed_ = nullptr;
  std::vector<Judged> judged_;  // in the order of the history
  std::vector<Topic> topics_;   // the person's entries first, each a topic of its own
  size_t persons_ = 0;          // number of the person's entries
  std::unordered_map<Digest, size_t> topic_of_;
  std::unordered_map<VariantId, size_t> failure_of_;  // by variant: its rejection's topic
  std::vector<size_t> by_acceptance_;  // topics that the rule accepts, the earliest first
  Lessons out_;
};

// Whether an entry holds once the round is done.
bool holds(const Learning& entry, int round, const std::string& kernel) {
  constexpr std::string_view kRound = "round ";
  std::string_view since = entry.field("Since");
  if (!since.starts_with(kRound)) return true;
  since.remove_prefix(kRound.size());
  int64_t first = 0;
  constexpr int64_t kMost = 1'000'000;
  while (!since.empty() && since[0] >= '0' && since[0] <= '9' && first < kMost) {
    first = 10 * first + (since[0] - '0');
    since.remove_prefix(1);
  }
  const bool is_of_kernel = since.empty() || since == ", " + kernel;
  return !is_of_kernel || round >= first;
}

}  // namespace

std::string normalised_sentence(std::string_view text) {
  constexpr std::string_view kMarks = "`*\"'";
  std::string plain;
  plain.reserve(text.size());
  for (char c : text) {
    if (kMarks.find(c) != std::string_view::npos) continue;
    plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  std::string out = one_line(plain, plain.size());
  while (!out.empty() && std::string_view(".!;: ").find(out.back()) != std::string_view::npos)
    out.pop_back();
  return out;
}

Learnings learnings_in_round(Learnings by_person, int round, const std::string& kernel) {
  std::erase_if(by_person.entries,
                [&](const Learning& entry) { return !holds(entry, round, kernel); });
  return by_person;
}

Result<LearnRule> learn_rule(const Selection& selection, const json& spec, double effect) {
  const json& kernel = member(spec, "name");
  if (!kernel.is_string()) return external("not a spec.json");
  return LearnRule{effect,
                   selection.round,
                   kernel,
                   selection.time_kind,
                   selection.resolution,
                   selection.is_relative};
}

Lessons learn(const History& history, const Learnings& by_person, const LearnRule& rule,
              Proposals proposals) {
  return Learner(history, by_person, rule).run(proposals);
}

}  // namespace evolve::search
