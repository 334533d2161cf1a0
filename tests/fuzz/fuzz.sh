# The part of ./dev, which reads this file, that builds and runs the fuzz targets of this folder.
# What libFuzzer finds is kept in build/fuzz-corpus, so that each run continues where the last one ended. An
# input with a finding is kept in build/fuzz-findings.
fuzz_soak_runs=10000000

build_fuzz() { # [TARGET…]: sets fuzz_targets
  local file target
  setup_preset fuzz
  build fuzz
  fuzz_targets=("$@")
  if [ $# -eq 0 ]; then
    for file in "$root"/build/fuzz/fuzzers/fuzz_*; do fuzz_targets+=("${file##*/fuzz_}"); done
  fi
  for target in "${fuzz_targets[@]}"; do
    [ -x "$root/build/fuzz/fuzzers/fuzz_$target" ] ||
      die "no such fuzz target: $target; the targets are listed in tests/fuzz/CMakeLists.txt"
  done
}

seeds_of() { # TARGET
  printf '%s\n' "$root/tests/fuzz/corpus/${1/#reader/view}" # the inputs of the two have the same form
}

# Runs one target and prints one line. Fails after a finding, or if a limit of runs was given and not reached.
fuzz_target() { # TARGET OPTION…
  local target=$1 corpus=$root/build/fuzz-corpus/$1 findings=$root/build/fuzz-findings/$1 log
  local status=0 runs rate max_len=160 wanted=0 option
  shift
  for option in "$@"; do [ "${option#-runs=}" = "$option" ] || wanted=${option#-runs=}; done
  [ "$target" != input ] || max_len=500
  mkdir -p "$corpus" "$findings"
  log=$root/build/fuzz-findings/$target.log
  # A run that is slow only because the machine is busy is not a finding. A small quarantine makes memory reuse faster.
  (cd "$findings" && ASAN_OPTIONS=${ASAN_OPTIONS-quarantine_size_mb=16} \
    UBSAN_OPTIONS=${UBSAN_OPTIONS-print_stacktrace=1} \
    "$root/build/fuzz/fuzzers/fuzz_$target" "$@" -print_final_stats=1 -max_len=$max_len -len_control=0 -entropic=0 \
    -timeout=300 -report_slow_units=300 "$corpus" "$(seeds_of "$target")") >"$log" 2>&1 || status=$?
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  rate=$(sed -n 's/^stat::average_exec_per_sec: *//p' "$log")
  printf '%-12s %12s runs  %8s runs/s  %s findings\n' "$target" "${runs:-0}" "${rate:-0}" $((status != 0))
  if [ "$status" -ne 0 ]; then
    grep -E 'does not hold|ERROR|SUMMARY|Test unit written' "$log" >&2 || tail -5 "$log" >&2
    say "dev: $target has a finding; the whole report is in $log"
    return 1
  fi
  [ "${runs:-0}" -ge "$wanted" ] || {
    say "dev: $target ended after ${runs:-0} runs: see $log"
    return 1
  }
}

# Runs the targets, as many at a time as there are processors.
fuzz_each() { # OPTION…
  local target status=0
  for target in "${fuzz_targets[@]}"; do
    while [ "$(jobs -rp | wc -l)" -ge "$(getconf _NPROCESSORS_ONLN)" ]; do wait -n || status=1; done
    fuzz_target "$target" "$@" &
  done
  while [ -n "$(jobs -p)" ]; do wait -n || status=1; done
  return "$status"
}

fuzz_all() { # OPTION…
  build_fuzz && fuzz_each "$@"
}

fuzz() { # MINUTES [TARGET…]
  local processors
  case ${1-} in
  corpus)
    build_fuzz "${@:2}"
    fuzz_corpus
    return
    ;;
  '' | *[!0-9]* | 0) die "usage: ./dev fuzz MINUTES [TARGET…], or ./dev fuzz corpus [TARGET…]" ;;
  esac
  build_fuzz "${@:2}"
  processors=$(getconf _NPROCESSORS_ONLN)
  [ "$processors" -le ${#fuzz_targets[@]} ] || processors=${#fuzz_targets[@]}
  fuzz_each "-max_total_time=$((60 * $1 * processors / ${#fuzz_targets[@]} + 1))"
}

# Inputs whose name is not a hash are kept: they were written by hand, or show a fault that was fixed.
fuzz_corpus() {
  local target folder chosen file
  for target in "${fuzz_targets[@]}"; do
    [ "$target" != reader ] || continue
    folder=$(seeds_of "$target")
    chosen=$root/build/fuzz-corpus/chosen.$target
    rm -rf "$chosen"
    mkdir -p "$chosen" "$root/build/fuzz-corpus/$target"
    "$root/build/fuzz/fuzzers/fuzz_$target" -set_cover_merge=1 -use_counters=0 "$chosen" "$folder" \
      "$root/build/fuzz-corpus/$target" >"$chosen.log" 2>&1 || die "cannot merge the corpus of $target: see $chosen.log"
    for file in "$folder"/*; do
      case ${file##*/} in *[!0-9a-f]*) ;; *) rm -f "$file" ;; esac
    done
    for file in "$chosen"/*; do
      file=${file##*/}
      cp "$chosen/$file" "$folder/${file:0:10}"
    done
    say "$target: $(find "$folder" -type f | wc -l) files"
    rm -rf "$chosen"
  done
}
