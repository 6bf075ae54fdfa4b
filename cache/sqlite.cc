#include "cache/sqlite.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "engine/core/path.h"

namespace evolve::cache {

namespace {

// The time that SQLite waits for another process's transaction to end. By default, SQLite does not
// wait, and writes are lost.
constexpr int kBusyMilliseconds = 30'000;

// Returns whether a database does not exist yet, or we may write it. In WAL mode, writing requires
// the right to write the file and, for the log, its folder.
bool may_write(const std::string& path) {
  return ::access(path.c_str(), F_OK) != 0 ||
         (::access(path.c_str(), W_OK) == 0 && ::access(folder_of(path).c_str(), W_OK) == 0);
}

// Gives the folder's group to the database's files that are ours. Otherwise a log that one user
// made would lock out the others who share the folder. If the change is not allowed, the group
// stays.
void follow_group(const std::string& path) {
  struct stat folder = {};
  if (::stat(folder_of(path).c_str(), &folder) != 0) return;
  for (const char* suffix : {"", "-wal", "-shm"}) {
    struct stat st = {};
    const std::string file = path + suffix;
    if (::stat(file.c_str(), &st) != 0 || st.st_gid == folder.st_gid) continue;
    if (st.st_uid == ::geteuid()) (void)::chown(file.c_str(), st.st_uid, folder.st_gid);
  }
}

// Returns a path in SQLite's form of a URI.
std::string as_uri(const std::string& path) {
  std::string out = "file:";
  for (char c : path) {
    const bool is_plain =
        std::isalnum(static_cast<unsigned char>(c)) || c == '/' || c == '.' || c == '-' || c == '_';
    out += is_plain ? std::string(1, c) : fmt::format("%{:02x}", static_cast<unsigned char>(c));
  }
  return out;
}

Error sqlite_error(sqlite3* handle, const std::string& path) {
  std::string what = fmt::format("{}: {}", path, sqlite3_errmsg(handle));
  // SQLite's message does not say why a database cannot be opened, and its errno may be that of
  // another file. So access() is called, which sets errno.
  const std::string folder = folder_of(path);
  if (sqlite3_errcode(handle) == SQLITE_CANTOPEN &&
      (::access(path.c_str(), W_OK) != 0 || ::access(folder.c_str(), W_OK) != 0)) {
    what += fmt::format(": {}", std::strerror(errno));
  }
  return external(what);
}

// Whether a file was cut off within a page. SQLite reads the lost part as zeros, and reports an
// error only where the zeros make no sense. The page size is at byte 16 of the header, big-endian
// (https://www.sqlite.org/fileformat.html#the_database_header).
bool is_cut(const std::string& path) {
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  std::string header(18, '\0');
  std::ifstream file(path, std::ios::binary);
  if (!file.read(header.data(), static_cast<std::streamsize>(header.size()))) return false;
  if (!header.starts_with(kMagic)) return false;
  const auto byte = [&](size_t at) { return static_cast<unsigned char>(header[at]); };
  const unsigned said = byte(16) * 256U + byte(17);
  const unsigned page = said == 1 ? 65536 : said;
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  return !error && page != 0 && size % page != 0;
}

}  // namespace

Statement& Statement::bind(int parameter, std::string_view text) {
  sqlite3_bind_text(statement_.get(), parameter, text.data(), static_cast<int>(text.size()),
                    SQLITE_TRANSIENT);
  return *this;
}

Statement& Statement::bind(int parameter, int64_t value) {
  sqlite3_bind_int64(statement_.get(), parameter, value);
  return *this;
}

Statement& Statement::bind(int parameter, double value) {
  sqlite3_bind_double(statement_.get(), parameter, value);
  return *this;
}

Statement& Statement::bind(int parameter, const Digest& digest) {
  return bind(parameter, std::string_view(digest.hex()));
}

Result<bool> Statement::step() {
  int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  sqlite3* handle = sqlite3_db_handle(statement_.get());
  const char* file = sqlite3_db_filename(handle, "main");
  return sqlite_error(handle, file == nullptr ? "database" : file);
}

Status Statement::run() {
  auto stepped = step();
  reset();
  if (!stepped) return std::move(stepped).error();
  return {};
}

void Statement::reset() {
  sqlite3_reset(statement_.get());
  sqlite3_clear_bindings(statement_.get());
}

std::string Statement::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  auto size = static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column));
  return bytes == nullptr ? std::string() : std::string(bytes, size);
}

int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

double Statement::real(int column) const {
  return sqlite3_column_double(statement_.get(), column);
}

// Opens a connection that only reads. Reading the log requires the right to open its index, "-shm",
// which writers make. Without a log, the file holds everything, so it is opened as immutable.
Result<Database> Database::connect_to_read(const std::string& path) {
  std::error_code error;
  const bool has_log = std::filesystem::file_size(path + "-wal", error) > 0 && !error;
  const std::string uri = as_uri(path) + (has_log ? "" : "?immutable=1");
  sqlite3* handle = nullptr;
  int code = sqlite3_open_v2(uri.c_str(), &handle, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr);
  Database database(handle, path);
  if (code != SQLITE_OK) return sqlite_error(handle, path);
  sqlite3_busy_timeout(handle, kBusyMilliseconds);
  return database;
}

Result<Database> Database::connect(const std::string& path) {
  if (!may_write(path)) return connect_to_read(path);
  sqlite3* handle = nullptr;
  int code =
      sqlite3_open_v2(path.c_str(), &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  Database database(handle, path);
  if (code != SQLITE_OK) return sqlite_error(handle, path);
  sqlite3_busy_timeout(handle, kBusyMilliseconds);
  // NORMAL with WAL: a commit survives the end of the process at any instant. Only a power cut can
  // lose the last commits; then the results in them are built again. Keys are random, so the rows
  // of a page are written at different times. A longer log avoids writing a page twice.
  TRY(
      database.execute("PRAGMA synchronous = NORMAL; PRAGMA cache_size = -65536; PRAGMA "
                       "wal_autocheckpoint = 4000;"));
  follow_group(path);
  return database;
}

Status Database::make_schema(int version, const std::string& schema) {
  TRY(execute("PRAGMA journal_mode = WAL;"));
  TRY(begin());
  // Another process may have made the schema first.
  auto found = this->version();
  const bool is_new = found && *found == 0;
  Status made = found ? Status() : Status(Error(found.error()));
  if (is_new) made = execute(fmt::format("{} PRAGMA user_version = {};", schema, version));
  auto ended = commit();
  return made ? ended : made;
}

void Database::make(const std::string& path, int version, const std::string& schema) {
  const std::string unnamed = fmt::format("{}.new{}", path, ::getpid());
  std::error_code error;
  std::filesystem::remove(unnamed, error);
  // The mode follows only the umask. SQLite would let only the owner write, and gives its log the
  // mode of the file.
  if (const int fd = ::open(unnamed.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      fd >= 0)
    ::close(fd);
  {
    auto database = connect(unnamed);
    if (database && database->make_schema(version, schema)) {
      database->handle_.reset();
      std::filesystem::create_hard_link(unnamed, path, error);
    }
  }
  for (const char* suffix : {"", "-wal", "-shm"}) {
    std::filesystem::remove(unnamed + suffix, error);
  }
}

Result<Database> Database::open(const std::string& path, int version, const std::string& schema) {
  std::error_code error;
  // A new database appears as a whole. Only one process at a time could make it in place, and
  // SQLite does not let the other processes wait.
  if (!std::filesystem::exists(path, error)) make(path, version, schema);
  if (is_cut(path)) return external(path + ": the file is truncated");
  auto database = connect(path);
  if (!database) return database;
  TRY_ASSIGN(auto found, database->version());
  if (found == version) return database;
  if (found != 0) {
    Error other = external(fmt::format("{}: schema version {}, but this evolve reads version {}",
                                       path, found, version));
    other.hint = "use the version of evolve that wrote the file, or move the file away";
    return other;
  }
  TRY(database->make_schema(version, schema));
  return database;
}

Result<Database> Database::open_or_set_aside(const std::string& path, int version,
                                             const std::string& schema, Replaceable what,
                                             std::string& warning) {
  auto database = open(path, version, schema);
  if (database || !is_replaceable(path, version, what)) return database;
  if (!set_aside(path, database.error().message, warning)) return database;
  return open(path, version, schema);
}

bool Database::set_aside(const std::string& path, const std::string& why, std::string& warning) {
  std::string aside = path + ".unreadable";
  std::error_code error;
  for (int i = 2; std::filesystem::exists(aside, error); ++i) {
    aside = fmt::format("{}.unreadable-{}", path, i);
  }
  std::filesystem::rename(path, aside, error);
  if (error) return false;
  // The log has changes that are not merged yet, so it moves with the database.
  for (const char* suffix : {"-wal", "-shm"}) {
    std::filesystem::rename(path + suffix, aside + suffix, error);
  }
  if (!warning.empty()) warning += "; ";
  warning += fmt::format("{}; moved to {}; starting with an empty database", why, aside);
  return true;
}

bool Database::is_damaged() const {
  const int code = sqlite3_errcode(handle_.get());
  return was_damaged_ || code == SQLITE_CORRUPT || code == SQLITE_NOTADB;
}

bool Database::is_replaceable(const std::string& path, int version, Replaceable what) {
  if (is_cut(path)) return true;
  sqlite3* handle = nullptr;
  sqlite3_open_v2(path.c_str(), &handle, SQLITE_OPEN_READWRITE, nullptr);
  Database database(handle, path);
  auto found = database.version();
  if (found) return what == Replaceable::unreadable && *found != 0 && *found != version;
  return database.is_damaged();
}

Status Database::query(std::string_view sql, const std::function<void(Statement&)>& bind,
                       const std::function<Status(Statement&)>& visit) {
  TRY_ASSIGN(auto statement, prepare(sql));
  bind(statement);
  while (true) {
    TRY_ASSIGN(auto row, statement.step());
    if (!row) return {};
    TRY(visit(statement));
  }
}

Status Database::transaction(const std::function<Status()>& work) {
  const bool was_open = sqlite3_get_autocommit(handle_.get()) == 0;
  TRY(begin());
  // Within an open transaction, a failure takes back only the changes made here.
  if (was_open) {
    TRY(execute("SAVEPOINT work"));
  }
  Status status = work();
  if (status) return was_open ? execute("RELEASE work") : commit();
  was_damaged_ = is_damaged();  // kept, because the next call that succeeds clears the error
  (void)execute(was_open ? "ROLLBACK TO work; RELEASE work" : "ROLLBACK");
  return status;
}

Result<std::vector<std::string>> Database::check() {
  std::vector<std::string> out;
  auto status = query(
      "PRAGMA integrity_check", [](Statement&) {},
      [&](Statement& row) -> Status {
        if (std::string text = row.text(0); text != "ok") out.push_back(path_ + ": " + text);
        return {};
      });
  if (!status) return std::move(status).error();
  return out;
}

Result<int> Database::version() {
  TRY_ASSIGN(auto statement, prepare("PRAGMA user_version"));
  TRY(statement.step());
  return static_cast<int>(statement.integer(0));
}

Result<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  int code = sqlite3_prepare_v3(handle_.get(), sql.data(), static_cast<int>(sql.size()),
                                SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) return sqlite_error(handle_.get(), path_);
  return Statement(statement);
}

Status Database::begin_reading() {
  if (sqlite3_get_autocommit(handle_.get()) == 0) return {};
  return execute("BEGIN");
}

Status Database::begin() {
  if (sqlite3_get_autocommit(handle_.get()) == 0) return {};
  return execute("BEGIN IMMEDIATE");
}

Status Database::commit() {
  if (sqlite3_get_autocommit(handle_.get()) != 0) return {};
  auto status = execute("COMMIT");
  if (!status) (void)execute("ROLLBACK");
  return status;
}

Status Database::execute(const std::string& sql) {
  if (sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    return sqlite_error(handle_.get(), path_);
  }
  return {};
}

}  // namespace evolve::cache
