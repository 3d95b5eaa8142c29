// What the verbs that launch cases share.
#pragma once

#include <functional>

#include "cases/run.h"
#include "cli/cli.h"

namespace kiln::cli {

// What a verb writes of a case that passed (with --json: of any), given the number of cases in all.
using ShowOutcome = std::function<std::string(const cases::Outcome& outcome, size_t cases)>;

// Runs the cases of the arguments, which go into `options`, `jobs` at a time. Writes progress on a terminal, what failed or was skipped,
// what `show` gives, and the line "N passed, N failed". Returns the exit status.
int run_cases(const CaseArgs& args, cases::RunOptions options, int jobs, const ShowOutcome& show);

// The members of a case's JSON object that every verb writes, without the closing brace.
std::string json_start(const cases::Outcome& outcome);

}  // namespace kiln::cli
