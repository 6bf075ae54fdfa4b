#include "cache/use_table.h"

namespace evolve::cache {

Status UseTable::record_steps(const std::map<std::string, Tally>& by_step) {
  TRY_ASSIGN(auto insert, database_->prepare("INSERT INTO tally VALUES (?, ?, ?, ?, ?, ?, ?)"));
  return database_->transaction([&]() -> Status {
    for (const auto& [step, tally] : by_step) {
      TRY(insert.bind(1, *build_)
              .bind(2, step)
              .bind(3, tally.ran)
              .bind(4, tally.cached)
              .bind(5, tally.failed)
              .bind(6, tally.spent_seconds)
              .bind(7, tally.saved_seconds)
              .run());
    }
    return {};
  });
}

Result<std::map<std::string, Tally>> UseTable::steps() {
  std::map<std::string, Tally> out;
  auto status = database_->query(
      "SELECT step, sum(ran), sum(cached), sum(failed), sum(spent), sum(saved) FROM tally"
      " GROUP BY step",
      [](Statement&) {},
      [&](Statement& row) -> Status {
        out[row.text(0)] = {row.integer(1), row.integer(2), row.integer(3), row.real(4),
                            row.real(5)};
        return {};
      });
  if (!status) return std::move(status).error();
  return out;
}

Result<double> UseTable::spent_seconds(const std::string& campaign, const std::string& step) {
  double out = 0;
  auto status = database_->query(
      "SELECT sum(spent) FROM tally JOIN build ON build.id = tally.build"
      " WHERE campaign = ? AND step = ?",
      [&](Statement& query) { query.bind(1, campaign).bind(2, step); },
      [&](Statement& row) -> Status {
        out = row.real(0);
        return {};
      });
  if (!status) return std::move(status).error();
  return out;
}

Status UseTable::record_pools(const std::map<std::string, PoolUse>& by_pool) {
  if (by_pool.empty()) return {};
  TRY_ASSIGN(auto insert, database_->prepare("INSERT INTO node_use VALUES (?, ?, ?, ?, ?)"));
  return database_->transaction([&]() -> Status {
    for (const auto& [pool, use] : by_pool) {
      auto status = insert.bind(1, *build_)
                        .bind(2, pool)
                        .bind(3, use.pods)
                        .bind(4, use.seconds)
                        .bind(5, use.chip_seconds)
                        .run();
      if (!status) return status;
    }
    return {};
  });
}

Result<std::map<std::string, PoolUse>> UseTable::nodes() {
  std::map<std::string, PoolUse> out;
  auto status = database_->query(
      "SELECT pool, sum(pods), sum(seconds), sum(chip_seconds) FROM node_use GROUP BY pool",
      [](Statement&) {},
      [&](Statement& row) -> Status {
        out[row.text(0)] = {row.integer(1), row.real(2), row.real(3)};
        return {};
      });
  if (!status) return std::move(status).error();
  return out;
}

}  // namespace evolve::cache
