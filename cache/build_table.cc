#include "cache/build_table.h"

#include <utility>

namespace evolve::cache {

namespace {

Outcome outcome_from(const std::string& name) {
  for (Outcome outcome : {Outcome::hit, Outcome::ran, Outcome::joined}) {
    if (name == outcome_name(outcome)) return outcome;
  }
  return Outcome::failed;
}

}  // namespace

Result<BuildTable> BuildTable::open(Database& database, ActionTable& results) {
  TRY_ASSIGN(auto last_edge,
             database.prepare("SELECT output, step, edge.outcome, reason, key FROM edge JOIN build "
                              "ON build.id = edge.build"
                              " WHERE output = ? AND campaign = ? ORDER BY edge.id DESC LIMIT 1"));
  return BuildTable(database, results, std::move(last_edge));
}

Result<std::vector<BuildRecord>> BuildTable::builds_where(
    const std::string& where, const std::function<void(Statement&)>& bind) {
  std::vector<BuildRecord> out;
  auto status = database_->query(
      "SELECT id, started, campaign, targets, toolchain, outcome, ran, cached FROM build WHERE " +
          where + " ORDER BY id DESC",
      bind, [&](Statement& row) -> Status {
        out.push_back({row.integer(0), row.text(1), row.text(2), row.text(3), row.text(4),
                       row.text(5), static_cast<int>(row.integer(6)),
                       static_cast<int>(row.integer(7))});
        return {};
      });
  if (!status) return std::move(status).error();
  return out;
}

Result<std::vector<BuildRecord>> BuildTable::list(const std::string& campaign) {
  return builds_where("campaign = ?", [&](Statement& statement) { statement.bind(1, campaign); });
}

Result<std::vector<BuildRecord>> BuildTable::last_of_each() {
  return builds_where("id IN (SELECT max(id) FROM build GROUP BY campaign)", [](Statement&) {});
}

Result<std::optional<BuildRecord>> BuildTable::first_that_ran(const Digest& key) {
  std::optional<BuildRecord> out;
  auto status = database_->query(
      "SELECT build.id, started, campaign, targets FROM edge JOIN build ON build.id = edge.build"
      " WHERE key = ? AND edge.outcome = 'ran' ORDER BY edge.id LIMIT 1",
      [&](Statement& statement) { statement.bind(1, key); },
      [&](Statement& row) -> Status {
        out.emplace();
        out->id = row.integer(0);
        out->started = row.text(1);
        out->campaign = row.text(2);
        out->targets = row.text(3);
        return {};
      });
  if (!status) return std::move(status).error();
  return out;
}

Result<std::vector<EdgeRecord>> BuildTable::edges(int64_t id) {
  return edges_where("WHERE build = ? ORDER BY id",
                     [&](Statement& statement) { statement.bind(1, id); });
}

Result<std::optional<EdgeRecord>> BuildTable::last_edge(const std::string& campaign,
                                                        const std::string& output) {
  auto row = last_edge_.bind(1, output).bind(2, campaign).step();
  if (!row || !*row) {
    last_edge_.reset();
    if (!row) return std::move(row).error();
    return std::optional<EdgeRecord>{};
  }
  auto record = read_edge(last_edge_);
  last_edge_.reset();
  if (!record) return std::move(record).error();
  return std::optional<EdgeRecord>(*std::move(record));
}

Result<std::optional<Digest>> BuildTable::last_key(const std::string& campaign,
                                                   const std::string& output) {
  auto row = last_edge_.bind(1, output).bind(2, campaign).step();
  auto key = row && *row ? Digest::from_hex(last_edge_.text(4)) : std::nullopt;
  last_edge_.reset();
  if (!row) return std::move(row).error();
  return key;
}

Result<std::vector<EdgeRecord>> BuildTable::last_edges() {
  return edges_where("WHERE id IN (SELECT max(id) FROM edge GROUP BY output) ORDER BY output",
                     [](Statement&) {});
}

Result<std::vector<EdgeRecord>> BuildTable::last_edges_of(const std::string& step, int count) {
  return edges_where(
      "WHERE id IN (SELECT max(id) FROM edge WHERE step = ? AND outcome <> 'failed'"
      " GROUP BY output) ORDER BY id DESC LIMIT ?",
      [&](Statement& statement) { statement.bind(1, step).bind(2, int64_t{count}); });
}

Result<std::optional<EdgeRecord>> BuildTable::edge_before(const std::string& output,
                                                          int64_t build) {
  TRY_ASSIGN(
      auto found,
      edges_where(
          "WHERE output = ?1 AND build < ?2 AND build IN"
          " (SELECT id FROM build WHERE campaign = (SELECT campaign FROM build WHERE id = ?2))"
          " ORDER BY id DESC LIMIT 1",
          [&](Statement& statement) { statement.bind(1, output).bind(2, build); }));
  return found.empty() ? std::nullopt : std::optional(std::move(found.front()));
}

Result<EdgeRecord> BuildTable::read_edge(const Statement& row) {
  EdgeRecord record;
  record.output = row.text(0);
  record.step = row.text(1);
  record.outcome = outcome_from(row.text(2));
  record.reason = row.text(3);
  Digest key = Digest::from_hex(row.text(4)).value_or(Digest{});
  TRY_ASSIGN(auto result, results_->find(key));
  if (result) record.result = *std::move(result);
  return record;
}

Result<std::vector<EdgeRecord>> BuildTable::edges_where(
    const std::string& where, const std::function<void(Statement&)>& bind) {
  std::vector<EdgeRecord> out;
  auto status = database_->query("SELECT output, step, outcome, reason, key FROM edge " + where,
                                 bind, [&](Statement& row) -> Status {
                                   TRY_ASSIGN(auto record, read_edge(row));
                                   out.push_back(std::move(record));
                                   return {};
                                 });
  if (!status) return std::move(status).error();
  return out;
}

}  // namespace evolve::cache
