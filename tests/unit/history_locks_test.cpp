// Several processes that use a history at once.
#include <csignal>
#include <memory>

#include "tests/unit/forked.h"
#include "tests/unit/history_faults.h"

namespace instr::history_locks_test {
namespace {

using namespace testing;

class HistoryLocks : public HistoryFaults {
 protected:
  // Starts a process that records commits.
  pid_t start_writer(int first, int end, const std::map<std::string, double>& values) const {
    const pid_t child = fork();
    if (child != 0) return child;
    for (int position = first; position < end; ++position) {
      if (!record(open(), {make_run(position, values)}, OnContradiction::kRefuse)) _exit(1);
    }
    _exit(0);
  }

  // Sends the signal, if it is not 0, and returns the exit status of the process.
  static int end_process(pid_t child, int signal) {
    if (signal != 0) kill(child, signal);
    int status = 0;
    waitpid(child, &status, 0);
    return to_exit_code(status);
  }
};

TEST_F(HistoryLocks, AWriterWaitsForAnotherWithAMessage) {
  add(make_run(1, {{"a", 20}}));
  for (const char* lock : {"BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"}) {
    SCOPED_TRACE(lock);
    Forked waiter([this] {
      add(make_run(2, {{"a", 30}}));
      EXPECT_EQ(steps_of("a"), (Points{{1, 20}, {2, 30}}));
    });
    const SqlDatabase holder = open(SqlAccess::kWrite);
    holder.run(lock);
    waiter.begin();
    const std::string words = "waiting for another run that uses '" + file().string() + "'";
    EXPECT_HAS(waiter.read_until(words), words);
    holder.run("COMMIT");
    EXPECT_EQ(waiter.end(), 0);
  }
  expect_whole();
}

TEST_F(HistoryLocks, ALockThatIsNotReleasedIsAnError) {
  add(make_run(1, {{"a", 20}}));
  Forked waiter([this] {
    const SqlPatience little{.pause = {}, .say_after = 1, .give_up_after = 3};
    for (const auto access : {SqlAccess::kRead, SqlAccess::kWrite}) {
      const auto refused =
          sql_stage([&] { SqlDatabase(file(), access, little).run("SELECT * FROM runs"); });
      ASSERT_FALSE(refused);
      expect_says(refused.error(), file(), "another process has kept it locked for a minute");
    }
  });
  const SqlDatabase holder = open(SqlAccess::kWrite);
  holder.run("BEGIN EXCLUSIVE; DELETE FROM steps");
  EXPECT_EQ(waiter.begin().end(), 0);
  holder.run("ROLLBACK");
  EXPECT_EQ(steps_of("a"), (Points{{1, 20}}));
}

TEST_F(HistoryLocks, AReaderSeesASnapshot) {
  add(make_run(1, {{"a", 20}}));
  Forked writer([this] { add(make_run(2, {{"a", 30}})); });
  {
    const SqlDatabase reader = open(SqlAccess::kRead);
    EXPECT_EQ(read_commits(reader).size(), 1u);
    const std::string words = "waiting for another run";
    EXPECT_HAS(writer.begin().read_until(words), words);
    EXPECT_EQ(read_commits(reader).size(), 1u);
  }
  EXPECT_EQ(writer.end(), 0);
  EXPECT_EQ(steps_of("a"), (Points{{1, 20}, {2, 30}}));
}

TEST_F(HistoryLocks, SeveralProcessesCanCreateOneHistory) {
  std::vector<std::unique_ptr<Forked>> writers;
  for (int position = 1; position <= 6; ++position) {
    writers.push_back(
        std::make_unique<Forked>([this, position] { add(make_run(position, many(position))); }));
  }
  for (auto& writer : writers) writer->begin();
  for (auto& writer : writers) EXPECT_EQ(writer->end(), 0);
  EXPECT_EQ(points().size(), 6u * many(1).size());
  expect_whole();
}

// Two writers, one of which is killed again and again in the middle of its work.
TEST_F(HistoryLocks, SurvivesKilledWriters) {
  std::map<std::string, double> many;
  for (int i = 0; i < 60; ++i) many[fmt::format("key {}", i)] = i + 20;
  open();
  constexpr int kBeside = 40;
  const pid_t beside = start_writer(10'000, 10'000 + kBeside, {{"b", 1}});
  for (int round = 1; round <= 12; ++round) {
    const pid_t killed = start_writer(round * 100, 1'000'000, many);
    usleep(25'000 * round);
    EXPECT_EQ(end_process(killed, SIGKILL), 128 + SIGKILL);
  }
  EXPECT_EQ(end_process(beside, 0), 0);
  EXPECT_EQ(end_process(start_writer(1, 2, many), 0), 0);
  expect_whole();
  const SqlDatabase database = open(SqlAccess::kRead);
  // Each run is there with all of its values, or not at all.
  EXPECT_EQ(database.integer("SELECT count(*) FROM runs WHERE commit_id IN (SELECT id FROM commits "
                             "WHERE position >= 10000)"),
            kBeside);
  EXPECT_EQ(database.integer("SELECT count(DISTINCT set_id) FROM runs"), 2);
  EXPECT_GT(database.integer("SELECT count(*) FROM runs"), kBeside);
}

}  // namespace
}  // namespace instr::history_locks_test
