#include "cache/round_table.h"

#include <utility>

namespace evolve::cache {

Status RoundTable::record_selection(const std::string& campaign, const RoundRecord& round) {
  TRY_ASSIGN(auto known, selections(campaign));
  for (const RoundRecord& old : known) {
    if (old.number == round.number && old.selection == round.selection) return {};
  }
  TRY_ASSIGN(auto statement, database_->prepare("INSERT INTO round (build, campaign, number, "
                                                "recorded, selection) VALUES (?, ?, ?, ?, ?)"));
  return statement.bind(1, *build_)
      .bind(2, campaign)
      .bind(3, int64_t{round.number})
      .bind(4, round.recorded)
      .bind(5, round.selection)
      .run();
}

Result<std::vector<RoundRecord>> RoundTable::selections(const std::string& campaign) {
  std::vector<RoundRecord> out;
  auto status = database_->query(
      "SELECT number, recorded, selection FROM round WHERE campaign = ?1 AND id IN"
      " (SELECT max(id) FROM round WHERE campaign = ?1 GROUP BY number) ORDER BY number",
      [&](Statement& statement) { statement.bind(1, campaign); },
      [&](Statement& row) -> Status {
        out.push_back({static_cast<int>(row.integer(0)), row.text(1), row.text(2)});
        return {};
      });
  if (!status) return std::move(status).error();
  return out;
}

Result<int64_t> RoundTable::add_record(const RecordedRound& record, RecordOrigin origin) {
  int64_t id = 0;
  auto status = database_->transaction([&]() -> Status {
    TRY_ASSIGN(auto last, last_record(record.campaign, record.round));
    if (last && last->before == record.before && last->text == record.text) {
      id = last->id;
      if (origin == RecordOrigin::imported) return {};
      TRY_ASSIGN(auto own, database_->prepare("DELETE FROM imported_record WHERE id = ?"));
      return own.bind(1, id).run();
    }
    TRY_ASSIGN(
        auto insert,
        database_->prepare(
            "INSERT INTO record (before, campaign, round, recorded, text) VALUES (?, ?, ?, ?, ?)"));
    auto inserted = insert.bind(1, record.before)
                        .bind(2, record.campaign)
                        .bind(3, int64_t{record.round})
                        .bind(4, record.recorded)
                        .bind(5, record.text)
                        .run();
    id = database_->last_insert_id();
    if (!inserted || origin == RecordOrigin::own) return inserted;
    TRY_ASSIGN(auto imported,
               database_->prepare("INSERT OR IGNORE INTO imported_record VALUES (?)"));
    return imported.bind(1, id).run();
  });
  if (!status) return std::move(status).error();
  return id;
}

Result<bool> RoundTable::is_imported(int64_t record) {
  bool out = false;
  auto status = database_->query(
      "SELECT id FROM imported_record WHERE id = ?",
      [&](Statement& statement) { statement.bind(1, record); },
      [&](Statement&) -> Status {
        out = true;
        return {};
      });
  if (!status) return std::move(status).error();
  return out;
}

Result<std::optional<RecordedRound>> RoundTable::find_record(int64_t id) {
  return record_where("WHERE id = ?", [&](Statement& statement) { statement.bind(1, id); });
}

Result<std::optional<RecordedRound>> RoundTable::last_record(const std::string& campaign,
                                                             int round) {
  return record_where(
      "WHERE campaign = ? AND round = ? ORDER BY id DESC LIMIT 1",
      [&](Statement& statement) { statement.bind(1, campaign).bind(2, int64_t{round}); });
}

Status RoundTable::for_each_record(const std::function<Status(const RecordedRound&)>& visit) {
  return records(
      "ORDER BY id", [](Statement&) {}, visit);
}

Result<std::vector<std::string>> RoundTable::campaigns() {
  std::vector<std::string> out;
  auto status = database_->query(
      "SELECT DISTINCT campaign FROM record ORDER BY campaign", [](Statement&) {},
      [&](Statement& row) -> Status {
        out.push_back(row.text(0));
        return {};
      });
  if (!status) return std::move(status).error();
  return out;
}

Status RoundTable::add_imported(const ActionResult& result) {
  TRY_ASSIGN(auto statement, database_->prepare("INSERT OR IGNORE INTO imported VALUES (?, ?)"));
  return statement.bind(1, result.key).bind(2, encode_result(result)).run();
}

Result<std::optional<ActionResult>> RoundTable::recall_any(const Digest& key) {
  auto found = results_->find(key);
  if (!found || *found) return found;
  auto status = database_->query(
      "SELECT result FROM imported WHERE key = ?",
      [&](Statement& statement) { statement.bind(1, key); },
      [&](Statement& row) -> Status {
        *found = decode_result(key, row.text(0));
        return {};
      });
  if (!status) return std::move(status).error();
  return found;
}

Status RoundTable::records(const std::string& where, const Binding& bind,
                           const std::function<Status(const RecordedRound&)>& visit) {
  return database_->query(
      "SELECT id, before, campaign, round, recorded, text FROM record " + where, bind,
      [&](Statement& row) {
        return visit({row.integer(0), row.integer(1), row.text(2), static_cast<int>(row.integer(3)),
                      row.text(4), row.text(5)});
      });
}

Result<std::optional<RecordedRound>> RoundTable::record_where(const std::string& where,
                                                              const Binding& bind) {
  std::optional<RecordedRound> out;
  auto status = records(where, bind, [&](const RecordedRound& record) -> Status {
    out = record;
    return {};
  });
  if (!status) return std::move(status).error();
  return out;
}

}  // namespace evolve::cache
