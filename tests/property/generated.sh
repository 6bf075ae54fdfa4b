#!/usr/bin/env bash
# Tests of manifests that CMake and Meson write. Stock ninja and `evolve ninja` must give the same answers and run the
# same commands, and the built programs must run. Each project has a few lines, for one feature that generators use.
source "$(dirname "${BASH_SOURCE[0]}")/../project.sh"
STOCK=$ROOT/.venv/bin/ninja
PROJECTS=0

# file NAME: writes the file with the text from stdin.
file() {
  mkdir -p "$(dirname "$1")"
  cat >"$1"
}

# essence: prints an answer without the parts that may differ between programs. Nodes of the graph are numbered in the
# order of the answer. An edge keeps only its first entry in a compilation database, because Ninja 1.14 has an entry for
# each input, but the stock ninja here has only the first.
essence() {
  python3 -c '
import re, sys
names = {}
text = re.sub(r"\"(0x[0-9a-f]+|[ne][0-9]+)\"(?= \[label=| ->| \[arrowhead|$)", lambda match: names.setdefault(match[0], f"node{len(names)}"),
              sys.stdin.read(), flags=re.M)
seen = set()
for entry in re.split(r"(?m)^(?=  \{$)", text):
    edge = re.sub(r"\n *\"file\": .*", "", entry.replace("},", "}").replace("\n]\nexit 0\n", "\n"))
    if not entry.startswith("  {") or edge not in seen:
        print(entry.replace("},", "}"), end="")
    elif entry.endswith("]\nexit 0\n"):
        print("]\nexit 0")
    seen.add(edge)'
}

# same QUESTION…: fails unless both programs give the same text and exit code.
same() {
  diff -u <({ "$STOCK" "$@" 2>&1; echo "exit $?"; } | essence) <({ "$EVOLVE" ninja "$@" 2>&1; echo "exit $?"; } | essence) >"$PROJECT/diff" ||
    fail "$name: ninja $*: $(head -40 "$PROJECT/diff")"
}

# compare TARGET: asks about the manifest in this folder, builds it, and builds nothing the second time.
compare() {
  local target=$1 tool
  PROJECTS=$((PROJECTS + 1))
  # The answers are from the manifest only. The commands may come in any order that ninja allows.
  same -t targets all
  same -t targets depth 0
  same -t rules -d
  same -t commands
  same -t compdb
  same -t compdb-targets "$target"
  same -t inputs "$target"
  same -t multi-inputs "$target"
  same -t graph
  same no_such_target
  for tool in $("$STOCK" -t targets all | sed 's/: .*//' | head -25); do same -t query "$tool"; done
  # Stock ninja's -n cannot go on if a dyndep file is missing, so -n is left out for a manifest with dyndep files.
  grep -q dyndep build.ninja || diff <("$STOCK" -n -v "$target" | sed 's/^\[[^]]*\] //' | sort) <("$EVOLVE" ninja -n -v "$target" | sed 's/^\[[^]]*\] //' | sort) \
    >"$PROJECT/diff" || fail "$name: other commands: $(cat "$PROJECT/diff")"
  "$EVOLVE" ninja --quiet "$target" >"$PROJECT/log" 2>&1 || fail "$name: the build: $(tail -20 "$PROJECT/log")"
  [ "$("$EVOLVE" ninja "$target")" = "ninja: no work to do." ] || fail "$name: something runs again: $("$EVOLVE" ninja -n -d explain "$target" 2>&1 | head -20)"
  # The dyndep files, if there are any, exist now and count in these answers.
  same -t graph
  same -n -v -t clean
}

# cmake_project NAME TARGET OPTION…: configures the project in this folder with our binary and compares.
cmake_project() {
  name=$1
  local target=$2
  shift 2
  ln -sf "$EVOLVE" "$PROJECT/ninja"
  cmake -S . -B out -G Ninja "-DCMAKE_MAKE_PROGRAM=$PROJECT/ninja" "$@" >"$PROJECT/log" 2>&1 ||
    { fail "$name: cmake: $(tail -20 "$PROJECT/log")"; return; }
  cd out && compare "$target"
}

meson_project() {
  name=$1
  NINJA=$STOCK "$ROOT/.venv/bin/meson" setup out >"$PROJECT/log" 2>&1 || { fail "$name: meson: $(tail -20 "$PROJECT/log")"; return; }
  cd out && compare "${2:-all}"
}

start() {
  new_project
  mkdir "$PROJECT/source"
  cd "$PROJECT/source" || exit 1
}

start # libraries of both kinds, one of objects, and their order
file CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(libraries C)
add_library(objects OBJECT objects.c)
add_library(fixed STATIC fixed.c $<TARGET_OBJECTS:objects>)
add_library(moving SHARED moving.c)
target_link_libraries(moving PRIVATE fixed)
set_target_properties(fixed objects PROPERTIES POSITION_INDEPENDENT_CODE ON)
add_executable(answer main.c)
target_link_libraries(answer moving)
END
echo 'int one(void) { return 1; }' >objects.c
echo 'int one(void); int two(void) { return one() + 1; }' >fixed.c
echo 'int two(void); int answer(void) { return 21 * two(); }' >moving.c
echo 'int answer(void); int main(void) { return answer() == 42 ? 0 : 1; }' >main.c
cmake_project "cmake libraries" all
./answer || fail "$name: the program"
echo 'int one(void) { return 2; }' >../objects.c
"$EVOLVE" ninja --quiet all && ! ./answer || fail "$name: an edit did not come through"

start # custom commands: generated sources with depfiles, stamps, by-products
file CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(commands C)
configure_file(version.h.in version.h)
add_custom_command(OUTPUT table.h BYPRODUCTS table.txt DEPENDS table.in DEPFILE table.d
  COMMAND cp ${CMAKE_CURRENT_SOURCE_DIR}/table.in table.txt
  COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/make.sh ${CMAKE_CURRENT_SOURCE_DIR} COMMENT "Making a table: $x \"quoted\"" VERBATIM)
add_custom_target(stamp ALL COMMAND ${CMAKE_COMMAND} -E touch stamped "with space" VERBATIM)
add_executable(answer main.c table.h)
target_include_directories(answer PRIVATE ${CMAKE_CURRENT_BINARY_DIR})
add_custom_command(TARGET answer POST_BUILD COMMAND ${CMAKE_COMMAND} -E echo built)
END
echo '#define VERSION "@CMAKE_VERSION@"' >version.h.in
echo '42' >table.in
echo 'sed "s/.*/#define ANSWER &/" "$1/table.in" >table.h; echo "table.h: $1/table.in $1/more.in" >table.d' >make.sh
touch more.in
printf '#include "table.h"\n#include "version.h"\nint main(void) { return ANSWER == 42 && VERSION[0] ? 0 : 1; }\n' >main.c
cmake_project "cmake commands" answer
./answer || fail "$name: the program"

start # C++, precompiled headers, unity builds, interprocedural optimisation
file CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(headers CXX)
add_executable(answer main.cc other.cc third.cc)
target_precompile_headers(answer PRIVATE <string> common.h)
add_library(unity STATIC other.cc third.cc)
set_target_properties(unity PROPERTIES UNITY_BUILD ON)
END
echo '#define ANSWER 42' >common.h
echo 'std::string other() { return "42"; }' >other.cc
echo 'int third() { return ANSWER; }' >third.cc
sed -i '1i #include <string>\n#include "common.h"' other.cc third.cc
printf 'std::string other(); int third();\nint main() { return std::stoi(other()) - third(); }\n' >main.cc
cmake_project "cmake precompiled headers" all
./answer || fail "$name: the program"

start # response files, and names that need quoting
file CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(responses C)
add_executable(answer "main file.c" a.c b.c)
target_compile_definitions(answer PRIVATE "TEXT=\"a b\"")
END
echo 'int a(void); int b(void); int main(void) { return TEXT[1] == 32 ? a() - b() : 1; }' >'main file.c'
echo 'int a(void) { return 1; }' >a.c
echo 'int b(void) { return 1; }' >b.c
cmake_project "cmake response files" answer -DCMAKE_NINJA_FORCE_RESPONSE_FILE=1
./answer || fail "$name: the program"

start # names that a shell and a manifest would split
file CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(names C)
add_executable(answer "main file.c" "it's.c" "plus+ampersand&.c")
target_compile_definitions(answer PRIVATE "MONEY=\"$5\"")
END
echo 'int a(void); int b(void); int main(void) { return MONEY[0] == 36 ? a() - b() : 1; }' >'main file.c'
echo 'int a(void) { return 1; }' >'plus+ampersand&.c'
echo 'int b(void) { return 1; }' >"it's.c"
cmake_project "cmake names" answer
./answer || fail "$name: the program"

start # several configurations in one folder: subninja and more than one manifest
file CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(configurations C)
add_executable(answer main.c)
target_compile_definitions(answer PRIVATE "IS_$<UPPER_CASE:$<CONFIG>>")
END
echo 'int main(void) {
#ifdef IS_RELEASE
  return 0;
#endif
  return 1; }' >main.c
name="cmake configurations"
cmake -S . -B out -G "Ninja Multi-Config" -DCMAKE_CONFIGURATION_TYPES="Debug;Release" -DCMAKE_CROSS_CONFIGS=all >"$PROJECT/log" 2>&1 || fail "$name: cmake"
cd out && compare answer:Release && ./Release/answer || fail "$name: the program"

start # a project within a project, with steps and stamps of its own
file CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(outer NONE)
include(ExternalProject)
ExternalProject_Add(inner SOURCE_DIR ${CMAKE_CURRENT_SOURCE_DIR}/inner INSTALL_COMMAND ""
  CMAKE_ARGS -G Ninja -DCMAKE_MAKE_PROGRAM=${CMAKE_MAKE_PROGRAM})
END
file inner/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(inner C)
add_executable(answer main.c)
END
echo 'int main(void) { return 0; }' >inner/main.c
cmake_project "cmake external project" all
./inner-prefix/src/inner-build/answer || fail "$name: the program"

start # Fortran's modules: dyndep
file CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(modules Fortran)
add_executable(answer main.f90 numbers.f90)
END
printf 'module numbers\n  integer, parameter :: answer = 42\nend module\n' >numbers.f90
printf 'program main\n  use numbers\n  if (answer /= 42) stop 1\nend program\n' >main.f90
cmake_project "cmake Fortran modules" answer
./answer || fail "$name: the program"

start # evolve itself
cd "$PROJECT" || exit 1
name="cmake evolve"
cmake -S "$ROOT" -B evolve -G Ninja -DEVOLVE_TESTS=ON >"$PROJECT/log" 2>&1 || fail "$name: cmake: $(tail -5 "$PROJECT/log")"
cd evolve && {
  PROJECTS=$((PROJECTS + 1))
  for question in "-t commands" "-t targets all" "-t compdb" "-t inputs all" "-t graph evolve" "-t query evolve" "-t rules" "evlove"; do
    # shellcheck disable=SC2086
    same $question
  done
}

start # Meson: libraries, headers that a script makes, a generator, a test
file meson.build <<'END'
project('answer', 'c', default_options: ['unity=off'])
header = custom_target('header', input: 'answer.in', output: 'answer.h', command: ['cp', '@INPUT@', '@OUTPUT@'])
copy = generator(find_program('cp'), output: '@BASENAME@.c', arguments: ['@INPUT@', '@OUTPUT@'])
numbers = static_library('numbers', copy.process('numbers.in'))
shared = shared_library('shared', 'shared.c', version: '1.2.3')
answer = executable('answer', 'main.c', header, link_with: [numbers, shared])
test('answer', answer)
run_target('say', command: ['echo', 'it is $ 42'])
END
echo '#define ANSWER 42' >answer.in
echo 'int number(void) { return 40; }' >numbers.in
echo 'int shared(void) { return 2; }' >shared.c
printf '#include "answer.h"\nint number(void); int shared(void);\nint main(void) { return number() + shared() - ANSWER; }\n' >main.c
meson_project "meson libraries"
./answer || fail "$name: the program"
"$EVOLVE" ninja --quiet test >"$PROJECT/log" 2>&1 || fail "$name: meson test: $(tail "$PROJECT/log")"

start # Meson: C++, precompiled headers and a unity build, a subproject
file meson.build <<'END'
project('answer', 'cpp', default_options: ['unity=on', 'buildtype=release'])
inner = subproject('inner')
executable('answer', 'main.cc', 'other.cc', cpp_pch: 'pch/common.h', link_with: inner.get_variable('library'))
END
file subprojects/inner/meson.build <<'END'
project('inner', 'cpp')
library = static_library('inner', 'inner.cc')
END
file pch/common.h <<<'#include <string>'
echo 'int inner() { return 2; }' >subprojects/inner/inner.cc
echo 'std::string other() { return "40"; }' >other.cc
sed -i '1i #include <string>' other.cc
printf '#include <string>\nint inner(); std::string other();\nint main() { return std::stoi(other()) + inner() - 42; }\n' >main.cc
meson_project "meson unity"
./answer || fail "$name: the program"

start # Meson: many small targets whose order matters, and a custom configuration
file meson.build <<'END'
project('chain', 'c')
previous = files('start.in')
foreach i : range(12)
  step = custom_target('step@0@'.format(i), input: previous, output: 'step@0@.txt'.format(i),
    command: ['sh', '-c', 'cat "$1" >"$2"; echo $3 >>"$2"', 'sh', '@INPUT@', '@OUTPUT@', i.to_string()], build_by_default: true)
  previous = step
endforeach
configure_file(output: 'config.h', configuration: {'ANSWER': 42})
executable('answer', 'main.c')
END
echo start >start.in
printf '#include "config.h"\nint main(void) { return ANSWER - 42; }\n' >main.c
meson_project "meson chain"
[ "$(wc -l <step11.txt)" = 13 ] || fail "$name: $(cat step11.txt)"
cd "$ROOT" || exit 1
finish "$PROJECTS"
